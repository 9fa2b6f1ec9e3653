// SPDX-License-Identifier: Apache-2.0
//
// The target's own counters: what they say is lost, and what goes into the trace's metadata.
//
// Context:  daemon (ingest thread)
// Owns:     the values of the last look; after take_snapshot() a copy of all
// Promises: each counted loss is reported once; counters that go back are ignored
// Not here: the counters (wire/segment.hpp)
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/ingest/decode/loss_counters.hpp"
#include "daemon/ingest/decode/shared_segment.hpp"

namespace gpuprof::ingest {

class StatsPoller {
 public:
  explicit StatsPoller(const SharedSegment& segment) : stats_(&segment.stats()) {}

  /// The segment is given up: from now on a copy of its statistics is asked.
  void take_snapshot();
  const wire::Stats& stats() const { return *stats_; }

  /// Adds what was counted since the last call; call once in each round of `losses`.
  void poll(LossCounters& losses);

  /// Every counter and state as facts "stats.NAME".
  void write_facts(model::EventSink& sink) const;

  /// 0 where the word holds what no process can have counted.
  std::uint64_t value(wire::Counter which) const;
  /// Records that found no room in a ring buffer, by what they are ("kernels", …), none of them 0.
  std::vector<std::pair<std::string, std::uint64_t>> drops_by_kind() const;
  /// Those of them that marked a step, or an iteration that may be one.
  std::uint64_t dropped_marks() const;

  /// Samples per second and running thread, in thousandths; 0 if there is no such rate.
  std::uint64_t rate_millihertz() const;

 private:
  std::uint64_t raw(wire::Counter which) const;

  const wire::Stats* stats_;
  std::unique_ptr<wire::Stats> snapshot_;
  std::array<std::uint64_t, wire::kCounterSlots> last_{};
};

}  // namespace gpuprof::ingest
