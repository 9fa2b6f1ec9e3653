// SPDX-License-Identifier: Apache-2.0
//
// Short slices: for this thread alone.
#include "support/process/sched_slice.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuprof::support {
namespace {

constexpr std::uint64_t kSliceNs = 200'000;

// As the kernel lays it out.
struct State {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime_ns, deadline_ns, period_ns;
};

State state() {
  State now{};
  ::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0);
  return now;
}

// A process of its own: nobody without privileges takes it back.
template <typename Body>
bool in_a_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(PromptThread, KeepsItsPolicyAndItsNiceness) {
  EXPECT_TRUE(in_a_child([] {
    ::setpriority(PRIO_PROCESS, 0, 7);
    const bool done = set_sched_slice(kSliceNs);
    const State now = state();
    return done && now.policy == SCHED_OTHER && now.nice == 7;
  }));
}

TEST(PromptThread, HasShortSlicesWhereTheKernelHasThem) {
  const bool kept = in_a_child([] {
    set_sched_slice(kSliceNs);
    return state().runtime_ns == kSliceNs;
  });
  // Since 6.12 the slice of an ordinary thread is reported.
  if (!kept && state().runtime_ns == 0) GTEST_SKIP() << "this kernel has one slice for all";
  EXPECT_TRUE(kept);
}

TEST(PromptThread, WhatItStartsIsAsOthers) {
  const std::uint64_t before_ns = state().runtime_ns;
  EXPECT_TRUE(in_a_child([&] {
    set_sched_slice(kSliceNs);
    return in_a_child([&] { return state().runtime_ns == before_ns && state().flags == 0; });
  }));
}

TEST(PromptThread, AnotherPolicyIsLeftAlone) {
  EXPECT_TRUE(in_a_child([] {
    const sched_param none{};
    if (::sched_setscheduler(0, SCHED_IDLE, &none) != 0) return true;
    return !set_sched_slice(kSliceNs) && state().policy == SCHED_IDLE;
  }));
}

}  // namespace
}  // namespace gpuprof::support
