// SPDX-License-Identifier: Apache-2.0
//
// Stacks of launches that are known again: the same as those that are walked.
#include "inject/sample/unwind/launch_stack_cache.hpp"

#include <alloca.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <map>
#include <random>

#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/unwind/launch_stack.hpp"
#include "tests/unit/sample/sampler_fixture.hpp"
#include "tests/unit/sample/strict_filter.hpp"

namespace gpuprof::sample {
namespace {

std::atomic<std::uint64_t> g_sink;

/// Which functions call each other, outermost first, and what the innermost found.
struct Path {
  explicit Path(std::string names) : calls(std::move(names)) {}

  std::string calls;
  std::size_t at = 0;
  std::size_t room = 0;  // taken on the stack by some of them, besides
  std::uint64_t id = 0;
  std::vector<std::uint64_t> walked;  // callers of the innermost
};

void call_next(Path& path);

__attribute__((noinline)) void innermost(Path& path) {
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return;
  path.id = capture_launch_stack(guard, 0, base::mono_ns());
  SnapshotReader use;
  Registers here;
  current_registers(&here);
  path.walked.resize(wire::kMaxNativeFrames);
  const UnwindResult walk = unwind(here, false, {}, path.walked.data(), wire::kMaxNativeFrames);
  path.walked.resize(walk.count);
}

__attribute__((noinline)) void plain(Path& path) {
  call_next(path);
  g_sink.fetch_add(1, std::memory_order_relaxed);
}
__attribute__((noinline)) void with_locals(Path& path) {
  volatile std::uint64_t locals[40];
  for (std::size_t i = 0; i < std::size(locals); ++i) locals[i] = path.at;
  call_next(path);
  g_sink.fetch_add(locals[path.calls.size() % 40], std::memory_order_relaxed);
}
// Found by its frame pointer.
__attribute__((noinline)) void with_room(Path& path) {
  auto* room = static_cast<volatile char*>(alloca(16 + path.room));
  room[0] = 1;
  room[15 + path.room] = 1;
  call_next(path);
  g_sink.fetch_add(static_cast<std::uint64_t>(room[0]), std::memory_order_relaxed);
}
__attribute__((noinline)) void twice(Path& path) {
  if ((path.calls.size() & 1) != 0)
    call_next(path);
  else
    call_next(path);
  g_sink.fetch_add(1, std::memory_order_relaxed);
}
void call_next(Path& path) {
  if (path.at == path.calls.size()) return innermost(path);
  switch (path.calls[path.at++]) {
    case 'p':
      return plain(path);
    case 'l':
      return with_locals(path);
    case 'r':
      return with_room(path);
    default:
      return twice(path);
  }
}

/// The frames of the launch's stack behind the innermost function are those that were walked.
void expect_same_frames(SamplerFixture& sampler, const Path& path) {
  const std::vector<std::uint64_t> frames = sampler.native_of(path.id);
  ASSERT_GE(frames.size(), path.walked.size());
  const std::size_t behind = path.walked.size() - 1;
  EXPECT_TRUE(std::equal(path.walked.end() - static_cast<std::ptrdiff_t>(behind), path.walked.end(),
                         frames.end() - static_cast<std::ptrdiff_t>(behind)))
      << path.calls;
}

std::vector<std::string> random_paths(std::size_t count, std::size_t longest, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) {
    std::string calls(1 + random() % longest, ' ');
    for (char& call : calls) call = "plrt"[random() % 4];
    paths.push_back(calls);
  }
  return paths;
}

void arm(SamplerFixture& sampler) {
  sampler.on_worker([] { tick(base::mono_ns()); });
  ASSERT_TRUE(is_guard_active());
}

/// Each path has one id, whatever came before it, and no other path has it.
std::size_t walk_all(SamplerFixture& sampler, const std::vector<std::string>& paths, int rounds,
                     unsigned seed) {
  std::mt19937 random(seed);
  std::map<std::string, std::uint64_t> id_of;
  std::map<std::uint64_t, std::string> path_of;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < paths.size(); ++i) {
      Path path(paths[random() % paths.size()]);
      // Some come with another size of a frame: the same stack elsewhere.
      path.room = round % 3 == 0 ? 16 * (random() % 4) : 0;
      call_next(path);
      EXPECT_NE(path.id, 0u);
      const auto [known, first] = id_of.emplace(path.calls, path.id);
      EXPECT_EQ(known->second, path.id) << path.calls;
      EXPECT_EQ(path_of.emplace(path.id, path.calls).first->second, path.calls);
      if (first) expect_same_frames(sampler, path);
    }
  return id_of.size();
}

TEST(LaunchStackCache, KnowsAStackAgainOnlyIfItIsTheSame) {
  SamplerFixture sampler;
  arm(sampler);
  EXPECT_GE(walk_all(sampler, random_paths(60, 12, 1), 40, 2), 50u);
}

TEST(LaunchStackCache, GoesOnWhereThereAreMoreStacksThanRoom) {
  SamplerFixture sampler;
  arm(sampler);
  EXPECT_GE(walk_all(sampler, random_paths(700, 60, 3), 3, 4), 500u);
}

TEST(LaunchStackCache, ThreadsBeyondThoseWithAPlaceAreWalked) {
  SamplerFixture sampler;
  arm(sampler);
  std::atomic<int> ready{0}, wrong{0};
  std::vector<std::thread> threads;
  constexpr int kThreads = 40;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      std::uint64_t ids[2] = {};
      for (int i = 0; i < 200; ++i) {
        Path path(i % 2 == 0 ? "plpr" : "pplr");
        call_next(path);
        std::uint64_t& id = ids[i % 2];
        if (id == 0) id = path.id;
        if (path.id == 0 || path.id != id || ids[0] == ids[1]) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Exit status of a child that takes a stack once under that filter, behind `before` times.
int taken_under_filter(int before) {
  const pid_t child = fork();
  if (child == 0) {
    std::uint64_t id = 0;
    for (int i = 0; i <= before; ++i) {
      asm volatile("" : "+r"(i));  // one call site
      if (i == before && !install_exit_only_filter()) _exit(2);
      const hot::Guard guard(hot::RingRole::kCallback);
      if (guard) id = capture_launch_stack(guard, 0, 1);
    }
    _exit(id != 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// The walk asks which signals are blocked: what asks nothing was not walked.
TEST(LaunchStackCache, WhatIsKnownMakesNoSystemCall) {
  SamplerFixture sampler;
  arm(sampler);
  EXPECT_EQ(taken_under_filter(0), -SIGSYS);
  // The first walk learns how frames are left, the second one is kept.
  EXPECT_EQ(taken_under_filter(2), 0);
}
#endif

TEST(LaunchStackCache, ForgetsAllWhenModulesChange) {
  SamplerFixture sampler;
  arm(sampler);
  std::uint64_t ids[6];
  for (int i = 0; i < 6; ++i) {
    Path path("plr");
    if (i == 4) unwind_invalidate();
    call_next(path);
    ids[i] = path.id;
  }
  for (const std::uint64_t id : ids) EXPECT_EQ(id, ids[0]);
}

}  // namespace
}  // namespace gpuprof::sample
