// SPDX-License-Identifier: Apache-2.0
//
// The fault guard in front of the default actions, and a page that cannot be read.
//
// Context:  tests
// Owns:     the dispositions of SIGSEGV and SIGBUS, until the test's end
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/modules/snapshot_build.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::sample {

class FaultGuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    publish_snapshot(build_snapshot());
    ASSERT_EQ(arm_guard(), GuardState::kArmed);
    page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  void TearDown() override {
    disarm_guard();
    munmap(page, 4096);
  }
  static KernelAction disposition(int signal) {
    KernelAction now{};
    kernel_sigaction(signal, nullptr, &now);
    return now;
  }
  void* page = nullptr;
};

struct FaultingRead {
  const volatile int* from;
  int steps = 0;
};
inline void run_faulting_read(void* argument) {
  auto* reading = static_cast<FaultingRead*>(argument);
  ++reading->steps;
  reading->steps += *reading->from;
}

}  // namespace gpuprof::sample
