// SPDX-License-Identifier: Apache-2.0
//
// Storage of the process-wide state, and the one way to wake the worker.
//
// Context:  signal
// Owns:     nothing
#include "inject/hot/state.hpp"

#include <errno.h>

#include "inject/hot/outbox.hpp"
#include "inject/hot/worker/worker_wakeup.hpp"

namespace gpuprof::hot {

constinit State g_state;
constinit Outbox g_outbox;

void wake_worker() {
  signal_wakeup();
  if (!is_owner_process()) return;
  const int saved = errno;
  wire::wake_agent(*g_state.plan);
  errno = saved;
}

}  // namespace gpuprof::hot
