// SPDX-License-Identifier: Apache-2.0
//
// Gone for good, before the program lets the kernel kill whoever makes system calls it did not
// foresee: those of ours.
//
// Context:  boundary; leave_if_filtered: worker
// Promises: afterwards no thread of ours is there, no signal of ours comes, and nothing of ours
//           makes a system call on a thread of the program; waits 3 s at most (some ms as a rule),
//           but for the time in which our thread gets no processor or is inside the kernel
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

enum class Leaving : std::uint32_t { kNot, kUnderWay, kOver };
constinit std::atomic<Leaving> g_leaving{Leaving::kNot};

long number_after(const char* text, const char* key) {
  const char* at = strstr(text, key);
  return at == nullptr ? 0 : strtol(at + strlen(key), nullptr, 10);
}

// Another thread restricts itself, too. Once its filter holds, our calls may be forbidden here.
void wait_until_left() {
  const std::uint64_t deadline_ns =
      base::mono_ns() + (kLeaveDeadlineMs + hot::kStarvedMs) * 1'000'000ULL;
  while (g_leaving.load(std::memory_order_acquire) == Leaving::kUnderWay &&
         base::mono_ns() < deadline_ns)
    hot::pause_for(kLookNs);
}

void leave_now(bool awake) {
  // What still arrives on a thread that is restricted already does nothing more.
  hot::g_state.on.store(0, std::memory_order_release);
  hot::worker_resume_timer_done();
  wake::end_watch();
  mark_restricted(environ);
  if (awake) hot::worker_park(kLeaveDeadlineMs, hot::kStarvedMs);
}

}  // namespace

void leave() {
  if (!g_core.has_address) return;
  if (g_core.left.load(std::memory_order_acquire)) return wait_until_left();
  const int saved = errno;
  const pid_t owner = g_core.owner_pid.load(std::memory_order_acquire);
  // In a vfork child all our memory is the parent's.
  if (owner == 0 || owner == getpid()) {
    auto before = Leaving::kNot;
    if (g_leaving.compare_exchange_strong(before, Leaving::kUnderWay, std::memory_order_acq_rel)) {
      g_core.left.store(true, std::memory_order_release);
      leave_now(owner != 0);
      g_leaving.store(Leaving::kOver, std::memory_order_release);
    } else {
      wait_until_left();
    }
  }
  errno = saved;
}

bool has_left() { return g_core.left.load(std::memory_order_acquire); }

// What came before us, as in a container, lets the likes of us live.
void leave_if_filtered(const char* status) {
  static long before = -1;
  const long now =
      number_after(status, "\nSeccomp:\t") + number_after(status, "\nSeccomp_filters:\t");
  if (before < 0) before = now;
  if (now > before) g_core.left.store(true, std::memory_order_release);
}

}  // namespace gpuprof::agent
