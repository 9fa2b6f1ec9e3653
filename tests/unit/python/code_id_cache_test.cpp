// SPDX-License-Identifier: Apache-2.0
//
// Ids remembered by address: of whom, for how long, and by several threads at once.
#include "inject/python/frames/code_id_cache.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace gpuprof::python {
namespace {

TEST(CodeIdCache, AreThoseOfOneMark) {
  const auto ids = std::make_unique<CodeIdCache>();
  EXPECT_EQ(ids->find(4096, 7), 0u);
  ids->add(4096, 7, 1);
  EXPECT_EQ(ids->find(4096, 7), 1u);
  EXPECT_EQ(ids->find(4096, 8), 0u) << "another one at its address";
  ids->add(4096, 8, 2);
  EXPECT_EQ(ids->find(4096, 8), 2u);
  EXPECT_EQ(ids->find(4096, 7), 0u);
}

TEST(CodeIdCache, MakeRoomForTheNewest) {
  const auto ids = std::make_unique<CodeIdCache>();
  for (std::uint64_t code = 16; code < 16 * 20000; code += 16) {
    ids->add(code, 1, code);
    ASSERT_EQ(ids->find(code, 1), code);
  }
  // A stack's own stay while they are used.
  for (int round = 0; round < 3; ++round)
    for (std::uint64_t code = 16; code < 16 * 100; code += 16)
      if (ids->find(code, 1) == 0) ids->add(code, 1, code);
  int known = 0;
  for (std::uint64_t code = 16; code < 16 * 100; code += 16)
    known += ids->find(code, 1) == code ? 1 : 0;
  EXPECT_GT(known, 90);
}

TEST(CodeIdCache, AreNeverHalfOfOneAndHalfOfAnother) {
  const auto ids = std::make_unique<CodeIdCache>();
  const auto id_of = [](std::uint64_t code, std::uint64_t mark) { return code * 1000003 + mark; };
  std::atomic<int> wrong{0}, right{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      // Few places and marks: all write the same entries.
      for (std::uint64_t i = 0; i < 200000; ++i) {
        const std::uint64_t code = 4096 + (i * 7 + thread) % 3 * 16, mark = (i + thread) % 5;
        const std::uint64_t found = ids->find(code, mark);
        if (found == 0)
          ids->add(code, mark, id_of(code, mark));
        else
          (found == id_of(code, mark) ? right : wrong).fetch_add(1, std::memory_order_relaxed);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(right.load(), 0);
}

}  // namespace
}  // namespace gpuprof::python
