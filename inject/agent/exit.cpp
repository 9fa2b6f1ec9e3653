// SPDX-License-Identifier: Apache-2.0
//
// The end of the process, announced and bounded.
//
// Context:  boundary
#include <errno.h>
#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "inject/agent/agent.hpp"
#include "inject/agent/core.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/hot/state.hpp"

namespace gpuprof::agent {

namespace {
std::atomic<bool> g_said_good_bye{false};

// A command shorter than our own start would leave no trace of itself, not even "seen".
void wait_for_a_short_command() {
  constexpr std::uint32_t kDeadlineMs = 20;
  if (g_core.phase.load(std::memory_order_acquire) != static_cast<std::uint32_t>(Phase::kStarting))
    return;
  if (g_core.owner_pid.load(std::memory_order_acquire) != getpid()) return;
  if ((g_core.woke.load(std::memory_order_relaxed) & wire::kWokeCommand) != 0)
    wait_ready(kDeadlineMs);
}
}  // namespace

void before_exit() {
  wait_for_a_short_command();
  // In a vfork child all our memory is the parent's: the pid is the only thing that tells.
  if (!hot::alive() || g_core.owner_pid.load(std::memory_order_acquire) != getpid()) return;
  const int saved = errno;
  if (cupti::driver_was_seen()) cupti::before_exit();
  if (!g_said_good_bye.exchange(true))
    g_core.connection.send_last(
        wire::Bye{static_cast<std::uint32_t>(wire::ByeReason::kExit), 0, base::mono_ns()});
  errno = saved;
}

}  // namespace gpuprof::agent
