// SPDX-License-Identifier: Apache-2.0
//
// What the trace says about the clocks its GPU times were converted from.
//
// Context:  daemon (ingest thread)
// Promises: one fact for each clock, written again as more is known of it, and few of them; one
//           sentence for each change; a count of the records whose clock is not sure
// Not here: the conversion (clock_tracker.hpp)
#pragma once

#include <cstdint>
#include <string>

#include "daemon/ingest/clocks/clock_tracker.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::ingest {

/// One clock in words.
std::string describe_clock(const ClockSegment& segment);

class ClockReport {
 public:
  /// After a reading. @param stepped  by how much CLOCK_REALTIME was set, 0: it was not.
  void reading(model::EventSink& sink, const ClockTracker& clocks, std::uint64_t ts_ns,
               std::int64_t stepped);
  void round_done(model::EventSink& sink, const ClockTracker& clocks);
  void finish(model::EventSink& sink, const ClockTracker& clocks);

 private:
  void write_latest(model::EventSink& sink, const ClockTracker& clocks);

  std::uint32_t numbered_ = 0;           // clocks so far
  std::uint32_t place_ = ~0U;            // of the latest
  std::uint64_t next_readings_ = 0;      // of it, until it is described again
  std::uint64_t ambiguous_written_ = 0;  // records
  std::uint64_t rough_written_ = 0;      // the same
};

}  // namespace gpuprof::ingest
