// SPDX-License-Identifier: Apache-2.0
//
// A Python that does not keep its frames as its version does: no fault, and soon no more tries. A
// program of its own, because that is for good.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "inject/hot/thread_block.hpp"
#include "inject/python/frames/fast_frames.hpp"
#include "tests/unit/python/fake_interpreter.hpp"

namespace gpuprof::python {
namespace {

void* g_state = nullptr;
int g_asked = 0;

TEST(WrongLayout, IsNotFollowedIntoMemoryThatCannotBeRead) {
  tests::FakeInterpreter python(13);
  python.runtime.this_state = [] { return ++g_asked, g_state; };
  g_runtime.store(&python.runtime);
  auto* page = static_cast<std::byte*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(page + 4096, 4096, PROT_NONE), 0);
  const auto closed = reinterpret_cast<std::uint64_t>(page + 4096);
  const std::uint64_t frame = python.frame(closed, 0);
  const std::uint64_t tops[] = {closed, frame, closed - 8, 16, ~std::uint64_t{7}};
  FastFrame found[8];
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(fast_frames_disabled(), i >= 32);
    const std::uint64_t state = python.state(tops[i % 5]);
    python.put<std::uint64_t>(state, python.runtime.offsets.thread_native_id, hot::current_tid());
    g_state = reinterpret_cast<void*>(state);
    EXPECT_EQ(read_fast_frames(hot::current_tid(), found, 8), 0u);
  }
  EXPECT_TRUE(fast_frames_disabled());
  g_runtime.store(nullptr);
}

}  // namespace
}  // namespace gpuprof::python
