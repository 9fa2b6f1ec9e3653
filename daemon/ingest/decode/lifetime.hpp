// SPDX-License-Identifier: Apache-2.0
//
// Between which times a process's records can lie.
//
// Context:  daemon (ingest thread)
// Promises: without bounds set everything holds
// Not here: what becomes of a record outside (its receiver counts it)
#pragma once

#include <cstdint>

namespace gpuprof::ingest {

/// CLOCK_MONOTONIC. A time outside was never read from a clock: one such event would stretch the
/// window of the whole session, and with it every other process's file.
struct Lifetime {
  std::uint64_t from_ns = 0, until_ns = ~0ULL;

  /// The daemon may be late between reading its clock and reading a ring buffer.
  static constexpr std::uint64_t kSlackNs = 10'000'000'000;

  void set_start(std::uint64_t ts_ns) { from_ns = ts_ns > kSlackNs ? ts_ns - kSlackNs : 0; }
  void set_now(std::uint64_t ts_ns) { until_ns = ts_ns + kSlackNs; }

  bool contains(std::uint64_t ts_ns) const { return ts_ns >= from_ns && ts_ns <= until_ns; }
  bool contains(std::uint64_t start_ns, std::uint64_t end_ns) const {
    return start_ns <= end_ns && start_ns >= from_ns && end_ns <= until_ns;
  }
};

}  // namespace gpuprof::ingest
