// SPDX-License-Identifier: Apache-2.0
//
// The worker's life: from session to control socket and back, until it is parked or detaches.
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
  if (!g_agent.private_fd_table) return;
  g_agent.wakeup_fd.fd = -1;
  g_agent.control_socket.forget_descriptor();
  g_agent.control_connection.forget_descriptor();
  if (!g_agent.components_configured) g_agent.connection.forget_descriptor();
}

NextAction initial_action() {
  if (g_agent.components_configured) return rejoin_session();
  // Also where a fork came between a Join and its settings.
  return g_agent.address.socket_bytes != 0 ? NextAction::kConnect : NextAction::kWaitArmed;
}

// The session is over; for children of ours, too.
NextAction action_without_session(NextAction next) {
  if (next == NextAction::kWaitArmed) g_agent.address.socket_bytes = 0;
  return next;
}

NextAction next_action(NextAction next) {
  switch (next) {
    case NextAction::kConnect:
    case NextAction::kServeJoined:
      set_phase(Phase::kStarting);
      return action_without_session(begin_session(next));
    case NextAction::kWaitArmed:
      set_phase(Phase::kArmed);
      return wait_armed();
    default:
      return action_without_session(run_session());
  }
}

// Nothing of ours is left but the library's pages, this thread's memory and, in a program with one
// thread, two slots (unhook_fork_exit).
void release_all() {
  release_components();
  cupti::on_worker_exit();
  unhook_signal_calls();
  unhook_fork_exit();
  g_agent.control_socket.close();
  g_agent.wakeup_fd.close();
  reply_detached();
  g_agent.control_connection.close();
  g_agent.has_address = false;
  g_agent.join_ns = g_agent.armed_ns = 0;
  g_agent.detach_after_session = false;
  g_agent.wake_reasons.store(0, std::memory_order_relaxed);
  g_agent.reported_wake_reasons = 0;
}

}  // namespace

bool worker_body() {
  prctl(PR_SET_NAME, "gpuprof");
  wake::stop_cpu_watch();
  cupti::before_fd_unshare();
  g_agent.private_fd_table = unshare_fd_table();
  forget_descriptors();
  for (NextAction next = initial_action();;) {
    if (next == NextAction::kPark) return true;
    if (next == NextAction::kDetach) {
      release_all();
      set_phase(Phase::kDormant);
      return true;
    }
    next = next_action(next);
  }
}

}  // namespace gpuprof::agent
