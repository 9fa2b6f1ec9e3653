// SPDX-License-Identifier: Apache-2.0
//
// Gone for good, before the program lets the kernel kill whoever makes system calls it did not
// foresee: those of ours.
//
// Context:  boundary; shut_down_if_filtered: worker
// Promises: afterwards no thread of ours is there, no signal of ours comes, and nothing of ours
//           makes a system call on a thread of the program; waits 3 s at most (some ms as a rule),
//           but for the time in which the worker thread gets no processor or is inside the kernel
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "gpuprof/base/clock.hpp"
#include "inject/activation/cpu_watch.hpp"
#include "inject/agent/agent.hpp"
#include "inject/agent/core.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker/sleep.hpp"
#include "inject/hot/worker/worker_thread.hpp"

namespace gpuprof::agent {

namespace {

// What CUPTI holds may be on its way.
constexpr std::uint32_t kLeaveDeadlineMs = 3000;
constexpr std::uint64_t kLookNs = 200'000;

enum class ShutdownPhase : std::uint32_t { kNot, kUnderWay, kOver };
constinit std::atomic<ShutdownPhase> g_leaving{ShutdownPhase::kNot};

long number_after(const char* text, const char* key) {
  const char* at = strstr(text, key);
  return at == nullptr ? 0 : strtol(at + strlen(key), nullptr, 10);
}

// Another thread restricts itself, too. Once its filter holds, our calls may be forbidden here.
void wait_until_shut_down() {
  const std::uint64_t deadline_ns =
      base::mono_ns() + (kLeaveDeadlineMs + hot::kStarvationLimitMs) * 1'000'000ULL;
  while (g_leaving.load(std::memory_order_acquire) == ShutdownPhase::kUnderWay &&
         base::mono_ns() < deadline_ns)
    hot::sleep_ns(kLookNs);
}

void shut_down_now(bool awake) {
  // What still arrives on a thread that is restricted already does nothing more.
  hot::g_state.on.store(0, std::memory_order_release);
  hot::worker_clear_resume_timer();
  wake::stop_cpu_watch();
  mark_syscalls_restricted(environ);
  if (awake) hot::worker_park(kLeaveDeadlineMs, hot::kStarvationLimitMs);
}

}  // namespace

void shut_down() {
  if (!g_agent.has_address) return;
  if (g_agent.shut_down.load(std::memory_order_acquire)) return wait_until_shut_down();
  const int saved = errno;
  const pid_t owner = g_agent.owner_pid.load(std::memory_order_acquire);
  // In a vfork child all our memory is the parent's.
  if (owner == 0 || owner == getpid()) {
    auto before = ShutdownPhase::kNot;
    if (g_leaving.compare_exchange_strong(before, ShutdownPhase::kUnderWay,
                                          std::memory_order_acq_rel)) {
      g_agent.shut_down.store(true, std::memory_order_release);
      shut_down_now(owner != 0);
      g_leaving.store(ShutdownPhase::kOver, std::memory_order_release);
    } else {
      wait_until_shut_down();
    }
  }
  errno = saved;
}

bool is_shut_down() { return g_agent.shut_down.load(std::memory_order_acquire); }

// What came before us, as in a container, lets the likes of us live.
void shut_down_if_filtered(const char* status) {
  static long before = -1;
  const long now =
      number_after(status, "\nSeccomp:\t") + number_after(status, "\nSeccomp_filters:\t");
  if (before < 0) before = now;
  if (now > before) g_agent.shut_down.store(true, std::memory_order_release);
}

}  // namespace gpuprof::agent
