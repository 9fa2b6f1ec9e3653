// SPDX-License-Identifier: Apache-2.0
//
// The end of the process, announced and bounded.
//
// Context:  boundary
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "inject/agent/agent.hpp"
#include "inject/agent/core.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/hot/state.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::agent {

namespace {
// A command shorter than our own start would leave no trace of itself, not even "seen".
void wait_for_first_hello() {
  constexpr std::uint32_t kDeadlineMs = 20;
  if (g_agent.phase.load(std::memory_order_acquire) != static_cast<std::uint32_t>(Phase::kStarting))
    return;
  if (g_agent.owner_pid.load(std::memory_order_acquire) != getpid()) return;
  if ((g_agent.wake_reasons.load(std::memory_order_relaxed) & wire::kWakeCommand) != 0)
    wait_ready(kDeadlineMs);
}
}  // namespace

void before_exit() {
  if (g_agent.shut_down.load(std::memory_order_acquire)) return;
  wait_for_first_hello();
  // In a vfork child all our memory is the parent's: the pid is the only thing that tells.
  if (g_agent.owner_pid.load(std::memory_order_acquire) != getpid()) return;
  const int saved = errno;
  unlink_control_socket();
  errno = saved;
  if (!hot::is_owner_process()) return;
  if (cupti::is_driver_initialised()) cupti::before_exit();
  // Through the segment: the socket is in the worker's own table of descriptors.
  hot::g_state.stats->bye.store(static_cast<std::uint64_t>(wire::ByeReason::kExit) + 1,
                                std::memory_order_release);
  errno = saved;
}

void before_abort() {
  constexpr std::uint32_t kDeadlineMs = 100;
  if (g_agent.shut_down.load(std::memory_order_acquire) || !cupti::is_driver_initialised()) return;
  if (g_agent.owner_pid.load(std::memory_order_acquire) != getpid()) return;
  sample::KernelAction action{};
  if (!sample::kernel_sigaction(SIGABRT, nullptr, &action) || action.handler != nullptr) return;
  const int saved = errno;
  cupti::before_abort(kDeadlineMs);
  errno = saved;
}

}  // namespace gpuprof::agent
