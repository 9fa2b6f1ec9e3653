// SPDX-License-Identifier: Apache-2.0
//
// Starts a helper thread, or none where the system refuses one.
//
// Context:  daemon | cli
// Promises: it takes no signal: those are for the thread that waits for them
#pragma once

#include <pthread.h>
#include <signal.h>

#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace gpuprof::support {

/// Not joinable where none can be made: the caller does the work itself or says what is missing.
template <typename Work>
std::thread try_start_thread(Work&& work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::forward<Work>(work));
  } catch (const std::system_error&) {
    // A limit on processes (ulimit -u, a control group's pids.max).
  } catch (const std::bad_alloc&) {
    // Nor is there memory to say what it is to do.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace gpuprof::support
