// SPDX-License-Identifier: Apache-2.0
//
// The state that CUPTI callbacks may read: written by the component, read from any thread.
//
// Context:  callback (read, count), worker | boundary (write)
// Promises: constant-initialised, never destroyed: valid in a completion after our shutdown
// Not here: decisions (cupti_state.cpp)
#pragma once

#include <atomic>
#include <cstdint>

#include "gpuprof/wire/segment.hpp"
#include "inject/cupti/library/api.hpp"
#include "inject/cupti/library/record_sizes.hpp"

namespace gpuprof::cupti {

/// What happened inside callbacks that deserves a notice; bits of CallbackState::seen.
inline constexpr std::uint32_t kSeenUnknownKind = 1;
inline constexpr std::uint32_t kSawDiscard = 2;
inline constexpr std::uint32_t kSawZeroTimes = 4;
inline constexpr std::uint32_t kSawGraphBudget = 8;
inline constexpr std::uint32_t kSawIncomplete = 16;
inline constexpr std::uint32_t kSawGraph = 32;  // a launch of one

struct CallbackState {
  Api api;             // immutable while a callback can run
  RecordSizes layout;  // the same
  /// No records of API calls are wanted.
  std::atomic<bool> drop_api{false};
  /// Completed buffers are translated until this time (CLOCK_MONOTONIC; kNever while recording), or
  /// with kUntilFlushed until a flush that begins from now on has ended, and kLingerNs longer.
  std::atomic<std::uint64_t> accept_until_ns{0};
  /// Kinds were left on because switching them off is dangerous: buffers are recycled unread.
  std::atomic<bool> activity_left_enabled{false};

  std::atomic<std::uint64_t> completions{0};      // buffers CUPTI gave back to us, ever
  std::atomic<std::uint64_t> device_launches{0};  // launch callbacks of kernels and graphs, ever
  std::atomic<std::uint64_t> other_calls{0};      // launch callbacks of other calls, ever
  std::atomic<std::uint64_t> returns{0};          // of either, ever
  std::atomic<std::uint64_t> waits{0};            // of them, for the GPU
  std::atomic<std::uint64_t> unreturned{0};       // calls whose thread made another one instead
  std::atomic<std::uint64_t> callbacks_on_since_ns{
      0};                                        // all callbacks are on; what began before may not
  std::atomic<std::int64_t> captures{0};         // of streams into graphs that are under way
  std::atomic<std::uint64_t> kernel_records{0};  // that are not nodes of graphs, ever
  std::atomic<std::uint64_t> node_records{0};    // device records of graph nodes in this session
  std::atomic<std::uint64_t> node_budget{0};     // 0: no limit
  std::atomic<bool> drop_nodes{false};           // the budget is spent, and their kind must stay on
  std::atomic<std::uint32_t> seen{0};            // kSaw…
};

extern CallbackState g_callback_state;

/// Launch callbacks, ever.
inline std::uint64_t launch_count() {
  return g_callback_state.device_launches.load(std::memory_order_relaxed) +
         g_callback_state.other_calls.load(std::memory_order_relaxed);
}

/// The rest of such a word is the time at which recording ended, so that each end has a word of its
/// own.
inline constexpr std::uint64_t kUntilFlushed = std::uint64_t{1} << 63;
/// How long after the flush what still ran then belongs to the window.
inline constexpr std::uint64_t kLingerNs = 2'000'000'000;

/// A flush that began when accept_until_ns was `then` has ended: where recording had ended when it
/// began, CUPTI holds nothing more of it but what still runs.
inline void accept_until_linger(std::uint64_t then, std::uint64_t now_ns) {
  if (then == wire::kNever || (then & kUntilFlushed) == 0) return;
  // release; fails if recording is on again, or has ended once more meanwhile
  g_callback_state.accept_until_ns.compare_exchange_strong(then, now_ns + kLingerNs,
                                                           std::memory_order_release);
}

inline void set_seen(std::uint32_t what) {
  if ((g_callback_state.seen.load(std::memory_order_relaxed) & what) == 0)
    g_callback_state.seen.fetch_or(what, std::memory_order_relaxed);
}

}  // namespace gpuprof::cupti
