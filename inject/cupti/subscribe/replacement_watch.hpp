// SPDX-License-Identifier: Apache-2.0
//
// Whether another client has put its buffer callbacks in the place of ours without our noticing:
// the program works and waits for the GPU, CUPTI is flushed, and no buffer comes.
//
// Context:  worker (pure)
// Promises: not reported for a program that is quiet, allocates, or waits for one long kernel: what
//           it did must leave records, several times over five seconds
// Not here: single sources of records that are silent
//           (daemon/ingest/correlation/delivery_monitor.hpp)
#pragma once

#include <cstdint>

namespace gpuprof::cupti {

/// What has been seen so far; each only grows.
struct DeliveryCounts {
  std::uint64_t completions = 0;  // buffers that CUPTI gave back
  std::uint64_t runs = 0;         // launches of kernels and graphs
  std::uint64_t waits = 0;        // for the GPU, that are over: each leaves a record
  std::uint32_t flushes = 0;      // that have ended
};

class ReplacementWatch {
 public:
  /// Each turn while waits are recorded. @return True: nothing comes any more.
  bool is_replaced(const DeliveryCounts& now, std::uint64_t now_ns) {
    if (now.completions != at_.completions || since_ns_ == 0) {
      begin(now, now_ns);
      return false;
    }
    const bool due = now.runs != at_.runs && now.waits != at_.waits;
    if (due && now_ns >= marked_ns_ + kMarkNs) {
      if (marks_++ == 0) flushes_ = now.flushes;
      marked_ns_ = now_ns;
      at_ = now;
    }
    // Two: the one that ended first may have begun before the first of these waits was over.
    const bool asked = now.flushes - flushes_ >= 2;
    return marks_ >= kMarks && asked && now_ns >= since_ns_ + kSilentNs;
  }
  void forget() { since_ns_ = 0; }

 private:
  static constexpr std::uint64_t kSilentNs = 5'000'000'000, kMarkNs = 1'000'000'000;
  static constexpr std::uint32_t kMarks = 3;

  void begin(const DeliveryCounts& now, std::uint64_t now_ns) {
    at_ = now;
    since_ns_ = marked_ns_ = now_ns;
    marks_ = 0;
  }

  DeliveryCounts
      at_;  // at the last mark: a second or more with work and a wait that should have come
  std::uint64_t since_ns_ = 0, marked_ns_ = 0;
  std::uint32_t marks_ = 0, flushes_ = 0;  // flushes: at the first of them
};

}  // namespace gpuprof::cupti
