// SPDX-License-Identifier: Apache-2.0
//
// Why there is no guard.
//
// Context:  worker
// Owns:     nothing
#include "inject/sample/fault_guard/guard_policy.hpp"

#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/worker/deadline.hpp"
#include "inject/messages/sampling.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/threads/threads.hpp"
#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::uint32_t kReleaseMs = 20;

void release_guard(bool* left) {
  if (*left) return;
  deactivate_guard();
  if (!wait_for_snapshot_readers(kReleaseMs)) return;
  disarm_guard();
  *left = true;
}

}  // namespace

const char* update_guard(bool own_threads, bool* left) {
  if (own_threads) return messages::sampling::kGoStacks;
  // What the guard does at a fault of the program's own is a system call.
  if (any_filtered()) {
    release_guard(left);
    return messages::sampling::kFilteredStacks;
  }
  *left = false;
  switch (arm_guard()) {
    case GuardState::kArmed:
      return nullptr;
    case GuardState::kIgnored:
      return messages::sampling::kFaultsIgnored;
    default:
      return messages::sampling::kFaultsHandled;
  }
}

bool program_has_begun(std::uint64_t from_ns) {
  constexpr std::uint64_t kBeginningCpuNs = 15'000'000;
  static constinit bool begun = false;
  if (begun || from_ns == 0) return true;
  if (base::mono_ns() < from_ns) return false;
  const pid_t main = getpid();
  begun = base::clock_ns(cpu_clock_of(main)) >= kBeginningCpuNs ||
          !hot::is_runnable_or_blocked(static_cast<std::uint32_t>(main));
  return begun;
}

}  // namespace gpuprof::sample
