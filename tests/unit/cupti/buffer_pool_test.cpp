// SPDX-License-Identifier: Apache-2.0
//
// The buffer pool.
//
// Context:  tests
#include "inject/cupti/activity/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace gpuprof::cupti {
namespace {

std::unique_ptr<BufferPool> make_pool(std::uint32_t bytes, std::uint32_t count) {
  auto pool = std::make_unique<BufferPool>();
  EXPECT_TRUE(pool->map(bytes, count));
  return pool;
}

TEST(BufferPool, GivesEachBufferOnceThenTheDiscardBuffer) {
  const auto pool = make_pool(4096, 3);
  std::set<std::uint8_t*> seen;
  std::size_t bytes = 0;
  bool discard = false;
  for (int i = 0; i < 3; ++i) {
    seen.insert(pool->acquire(&bytes, &discard));
    EXPECT_FALSE(discard);
    EXPECT_EQ(bytes, 4096u);
  }
  EXPECT_EQ(seen.size(), 3u);
  std::uint8_t* last = pool->acquire(&bytes, &discard);
  EXPECT_TRUE(discard);
  EXPECT_NE(last, nullptr) << "CUPTI below 12.9 crashes on a null buffer";
  EXPECT_FALSE(pool->owns(last));
  EXPECT_EQ(pool->acquire(&bytes, &discard), last) << "several threads may share it";
  std::memset(last, 0xFF, bytes);
}

TEST(BufferPool, WhatWasUsedComesBackZeroed) {
  const auto pool = make_pool(4096, 1);
  std::size_t bytes;
  bool discard;
  for (const bool by_worker : {false, true}) {
    std::uint8_t* buffer = pool->acquire(&bytes, &discard);
    std::memset(buffer, 0xEE, 1000);
    pool->release(buffer, 1000);
    if (by_worker) pool->zero_used();
    std::uint8_t* again = pool->acquire(&bytes, &discard);
    ASSERT_EQ(again, buffer);
    for (int i = 0; i < 4096; ++i) ASSERT_EQ(again[i], 0) << i;
    pool->release(again, 0);
  }
}

TEST(BufferPool, OneFromTheHeapMayBeFreedByWhoeverIsGivenIt) {
  static BufferPool pool;  // what never comes back stays reachable
  ASSERT_TRUE(pool.map(64 << 10, 4, BufferMemory::kHeap));
  std::size_t bytes;
  bool discard;
  std::uint8_t* const gone = pool.acquire(&bytes, &discard);
  std::uint8_t* const used = pool.acquire(&bytes, &discard);
  std::free(gone);
  std::memset(used, 0xEE, 1000);
  pool.release(used, 1000);
  pool.zero_used();
  for (int i = 0; i < 3; ++i) {
    std::uint8_t* const next = pool.acquire(&bytes, &discard);
    EXPECT_FALSE(discard);
    EXPECT_NE(next, gone);
    EXPECT_EQ(next[0], 0);
  }
  EXPECT_FALSE(pool.unmap(1)) << "one never came back";
}

TEST(BufferPool, FromTheHeapAllIsGivenBack) {
  BufferPool pool;
  ASSERT_TRUE(pool.map(64 << 10, 4, BufferMemory::kHeap));
  std::size_t bytes;
  bool discard;
  pool.release(pool.acquire(&bytes, &discard), 10);
  EXPECT_TRUE(pool.unmap(100));
  EXPECT_FALSE(pool.mapped());
}

TEST(BufferPool, IsLowOnceHalfOfItIsOut) {
  const auto pool = make_pool(4096, 4);
  std::size_t bytes;
  bool discard;
  std::uint8_t* const first = pool->acquire(&bytes, &discard);
  EXPECT_FALSE(pool->low());
  pool->acquire(&bytes, &discard);
  EXPECT_TRUE(pool->low());
  pool->release(first, 100);
  EXPECT_FALSE(pool->low());
}

TEST(BufferPool, StrangersAreIgnored) {
  const auto pool = make_pool(4096, 2);
  std::size_t bytes;
  bool discard;
  std::uint8_t* buffer = pool->acquire(&bytes, &discard);
  std::uint8_t stranger[16];
  pool->release(stranger, 16);
  pool->release(buffer + 8, 16);
  pool->acquire(&bytes, &discard);
  pool->acquire(&bytes, &discard);
  EXPECT_TRUE(discard) << "no third buffer may have appeared";
}

TEST(BufferPool, ManyThreadsNeverShareABuffer) {
  const auto pool = make_pool(4096, 16);
  std::vector<std::thread> threads;
  std::atomic<int> clashes{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20000; ++i) {
        std::size_t bytes;
        bool discard;
        std::uint8_t* buffer = pool->acquire(&bytes, &discard);
        if (discard) continue;
        for (int k = 0; k < 64; ++k)
          if (buffer[k] != 0) clashes.fetch_add(1);
        std::memset(buffer, t + 1, 64);
        pool->release(buffer, 64);
        if (i % 128 == 0) pool->zero_used();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(clashes.load(), 0);
}

}  // namespace
}  // namespace gpuprof::cupti
