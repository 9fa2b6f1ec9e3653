// SPDX-License-Identifier: Apache-2.0
//
// What the callbacks of this room may look at: written by the room, read from any thread.
//
// Context:  callback (read, count), worker | boundary (write)
// Owns:     nothing
// Promises: constant-initialised, never destroyed: valid in a completion after our shutdown
// Not here: decisions (room.cpp)
#pragma once

#include <atomic>
#include <cstdint>

#include "inject/cupti/api.hpp"
#include "inject/cupti/layout.hpp"

namespace gpuprof::cupti {

/// What happened inside callbacks that deserves a sentence; bits of Live::seen.
inline constexpr std::uint32_t kSawUnknownKind = 1;
inline constexpr std::uint32_t kSawDiscard = 2;
inline constexpr std::uint32_t kSawZeroTimes = 4;
inline constexpr std::uint32_t kSawGraphBudget = 8;
inline constexpr std::uint32_t kSawIncomplete = 16;
inline constexpr std::uint32_t kSawGraph = 32;  // a launch of one

struct Live {
  Api api;        // immutable while a callback can run
  Layout layout;  // the same
  /// API records of functions outside our list are dropped when the whole kind is on.
  std::atomic<bool> filter_api{false};
  /// API records are dropped, whichever functions they are of.
  std::atomic<bool> drop_api{false};
  /// Completed buffers are translated until this time (CLOCK_MONOTONIC; kNever while recording).
  std::atomic<std::uint64_t> accept_until_ns{0};
  /// Kinds were left on because switching them off is dangerous: buffers are recycled unread.
  std::atomic<bool> kinds_kept{false};

  std::atomic<std::uint64_t> completions{0};   // buffers CUPTI gave back to us, ever
  std::atomic<std::uint64_t> launches{0};      // launch callbacks, ever
  std::atomic<std::uint64_t> node_records{0};  // device records of graph nodes in this session
  std::atomic<std::uint64_t> node_budget{0};   // 0: no limit
  std::atomic<std::uint32_t> seen{0};          // kSaw…
};

extern Live g_live;

inline void note_seen(std::uint32_t what) {
  if ((g_live.seen.load(std::memory_order_relaxed) & what) == 0)
    g_live.seen.fetch_or(what, std::memory_order_relaxed);
}

}  // namespace gpuprof::cupti
