// SPDX-License-Identifier: Apache-2.0
//
// The program asks for the sampling signal and waits until samples come by another one.
//
// Context:  boundary, also in signal handlers; take: worker
// Owns:     what is asked for
// Promises: half a second at the most; errno is kept
#include "inject/sample/signals/signal_conflicts.hpp"

#include <errno.h>

#include <atomic>

#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/sleep.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/sample/signals/handler_state.hpp"

namespace gpuprof::sample {

namespace {

// A signal's number; 0: none.
constinit std::atomic<int> g_taken{0}, g_named{0};

void claim(std::atomic<int>& what, int number) {
  if (!hot::on(hot::kOnSamples) || hot::is_our_thread(hot::current_tid())) return;
  constexpr int kTries = 2500;
  const int saved = errno;
  what.store(number, std::memory_order_release);
  hot::wake_worker();
  errno = saved;
  for (int i = 0; i < kTries && g_handler.signal.load(std::memory_order_acquire) == number; ++i)
    hot::sleep_ns(200'000);
}

}  // namespace

SignalConflicts take_signal_conflicts() {
  return {g_taken.exchange(0, std::memory_order_acq_rel),
          g_named.exchange(0, std::memory_order_acq_rel)};
}

bool has_signal_conflicts() {
  return g_taken.load(std::memory_order_relaxed) != 0 ||
         g_named.load(std::memory_order_relaxed) != 0;
}

void add_awaited_signal(int number) { g_named.store(number, std::memory_order_release); }

void yield_signal(int number) { claim(g_taken, number); }

void yield_signal_keep_handler(int number) { claim(g_named, number); }

}  // namespace gpuprof::sample
