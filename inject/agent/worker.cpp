// SPDX-License-Identifier: Apache-2.0
//
// The worker's life: from session to door and back, until it is parked or lets go.
//
// Context:  worker
#include <sys/prctl.h>

#include "inject/activation/cpu_watch.hpp"
#include "inject/agent/core.hpp"
#include "inject/agent/process/fd_table.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/hot/worker/worker_thread.hpp"

namespace gpuprof::agent {

namespace {

// What the thread before us had open went with its table.
void forget_descriptors() {
  if (!g_core.own_files) return;
  g_core.bell.fd = -1;
  g_core.door.forget();
  g_core.caller.forget();
  if (!g_core.set_up) g_core.connection.forget();
}

Next first() {
  if (g_core.set_up) return come_back();
  // Also where a fork came between a Join and its settings.
  return g_core.address.socket_bytes != 0 ? Next::kConnect : Next::kArmed;
}

// The session is over; for children of ours, too.
Next without_session(Next next) {
  if (next == Next::kArmed) g_core.address.socket_bytes = 0;
  return next;
}

Next after(Next next) {
  switch (next) {
    case Next::kConnect:
    case Next::kJoined:
      set_phase(Phase::kStarting);
      return without_session(begin_session(next));
    case Next::kArmed:
      set_phase(Phase::kArmed);
      return wait_at_door();
    default:
      return without_session(live_in_session());
  }
}

// Nothing of ours is left but the library's pages, this thread's memory and, in a program with one
// thread, two slots (restore_end_calls).
void let_go_of_all() {
  release_rooms();
  cupti::worker_ends();
  restore_signal_calls();
  restore_end_calls();
  g_core.door.close();
  g_core.bell.close();
  say_detached();
  g_core.caller.close();
  g_core.has_address = false;
  g_core.join_ns = g_core.armed_ns = 0;
  g_core.detach_after = false;
  g_core.woke.store(0, std::memory_order_relaxed);
  g_core.told_woke = 0;
}

}  // namespace

bool worker_body() {
  prctl(PR_SET_NAME, "gpuprof");
  wake::end_watch();
  cupti::before_own_files();
  g_core.own_files = take_own_files();
  forget_descriptors();
  for (Next next = first();;) {
    if (next == Next::kPark) return true;
    if (next == Next::kDetached) {
      let_go_of_all();
      set_phase(Phase::kDormant);
      return true;
    }
    next = after(next);
  }
}

}  // namespace gpuprof::agent
