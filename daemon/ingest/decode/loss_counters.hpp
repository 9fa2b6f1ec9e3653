// SPDX-License-Identifier: Apache-2.0
//
// What was lost since the last entry, by reason and thread; written out as model::Loss.
//
// Context:  daemon (ingest thread)
// Owns:     its tallies
// Promises: bounded: beyond kMaxTallies threads are no longer told apart; a count from damaged
//           memory is one loss of its own, never a number
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "daemon/ingest/decode/limits.hpp"
#include "recording/model/events.hpp"
#include "recording/model/loss.hpp"

namespace gpuprof::ingest {

class LossCounters {
 public:
  /// Losses of unknown time added from now on happened between the last call and this one.
  void begin_round(std::uint64_t now_ns) {
    since_ns_ = now_ns_;
    now_ns_ = now_ns;
  }

  /// Times are CLOCK_MONOTONIC; 0: unknown.
  void add(model::LossReason reason, std::uint32_t tid, std::uint64_t count, std::uint64_t first_ns,
           std::uint64_t last_ns) {
    if (count == 0) return;
    if (count > kMaxPlausibleCount) {
      reason = model::LossReason::kCountDamaged;
      count = 1;
    }
    if (tallies_.size() >= kMaxTallies) tid = 0;
    if (first_ns == 0) first_ns = since_ns_;
    if (last_ns == 0) last_ns = now_ns_;
    Entry& tally = tallies_[{reason, tid}];
    tally.count += count;
    if (first_ns != 0 && (tally.first_ns == 0 || first_ns < tally.first_ns))
      tally.first_ns = first_ns;
    tally.last_ns = std::max(tally.last_ns, last_ns);
    totals_[reason] += count;
  }

  /// Writes and forgets; times that no begin_round() has bounded become `now_ns`.
  void write(model::EventSink& sink, std::uint64_t now_ns) {
    for (const auto& [key, tally] : tallies_)
      sink.on(model::Loss{static_cast<std::uint32_t>(key.first), key.second, tally.count,
                          tally.first_ns != 0 ? tally.first_ns : now_ns,
                          tally.last_ns != 0 ? tally.last_ns : now_ns});
    tallies_.clear();
  }

  bool empty() const { return tallies_.empty(); }
  /// Everything ever lost, by reason.
  const std::map<model::LossReason, std::uint64_t>& totals() const { return totals_; }

 private:
  static constexpr std::size_t kMaxTallies = 4096;
  struct Entry {
    std::uint64_t count = 0, first_ns = 0, last_ns = 0;
  };
  std::map<std::pair<model::LossReason, std::uint32_t>, Entry> tallies_;
  std::map<model::LossReason, std::uint64_t> totals_;
  std::uint64_t since_ns_ = 0, now_ns_ = 0;
};

}  // namespace gpuprof::ingest
