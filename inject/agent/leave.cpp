// SPDX-License-Identifier: Apache-2.0
//
// Gone for good, before the program lets the kernel kill whoever makes system calls it did not
// foresee: those of ours.
//
// Context:  boundary; leave_if_filtered: worker
// Promises: afterwards no thread of ours is there, no signal of ours comes, and nothing of ours
//           makes a system call on a thread of the program; waits 200 ms at most, but for the time
//           in which our thread gets no processor or is inside the kernel
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/agent/agent.hpp"
#include "inject/agent/core.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/wake/watch.hpp"

namespace gpuprof::agent {

namespace {

constexpr std::uint32_t kLeaveDeadlineMs = 200;

long number_after(const char* text, const char* key) {
  const char* at = strstr(text, key);
  return at == nullptr ? 0 : strtol(at + strlen(key), nullptr, 10);
}

}  // namespace

void leave() {
  if (g_core.left.load(std::memory_order_relaxed) || !g_core.has_address) return;
  const int saved = errno;
  const pid_t owner = g_core.owner_pid.load(std::memory_order_acquire);
  // In a vfork child all our memory is the parent's.
  if (owner == 0 || owner == getpid()) {
    g_core.left.store(true, std::memory_order_release);
    hot::worker_resume_timer_done();
    wake::end_watch();
    mark_restricted(environ);
    if (owner != 0) hot::worker_park(kLeaveDeadlineMs, hot::kStarvedMs);
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
