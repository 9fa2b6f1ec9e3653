// SPDX-License-Identifier: Apache-2.0
//
// Converts times of CUPTI's records to CLOCK_MONOTONIC, clock segment by clock segment.
//
// Context:  daemon (ingest thread)
// Owns:     the readings of one process
// Promises: bounded; a record gets the clock it was written with, which its place among the
//           readings and what is known of its time decide, never the number alone; where two
//           clocks are possible it is counted; a rate is used once it is known well, or when
//           nobody can wait any longer
// Not here: when clocks are read (inject/cupti); one clock (clock_segment.hpp)
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/ingest/clocks/clock_fit.hpp"
#include "daemon/ingest/clocks/clock_segment.hpp"
#include "gpuprof/wire/records.hpp"

namespace gpuprof::ingest {

/// Where a record stands among the clock readings of its process.
struct ReadingPosition {
  std::uint32_t readings = 0;  // that came before it
  bool exact = false;          // in one ring buffer with them; else a few more or less
};

/// What is known of a record's time without its clock, CLOCK_MONOTONIC.
struct TimeBounds {
  std::uint64_t earliest_start_ns = 0;  // nothing starts before its launch; 0: not known
  std::uint64_t latest_start_ns = ~std::uint64_t{0};  // of a host call whose callback was seen
  std::uint64_t earliest_end_ns = 0;                  // the same: it had not ended then
};

class ClockTracker {
 public:
  /// A pair to start with, from Hello: good while CUPTI counts CLOCK_REALTIME, replaced by the
  /// first real reading.
  void seed(std::uint64_t mono_ns, std::uint64_t real_ns);

  /// Adds a reading. Returns by how much CLOCK_REALTIME was set since the last one, in ns;
  /// 0 if it was not (slewing stays below the threshold).
  std::int64_t add(const wire::ClockSync& sync);

  /// What is converted from now on was there before.
  void set_now(std::uint64_t now_ns) { now_ns_ = now_ns; }

  bool known() const { return !segments_.empty(); }
  /// The place of a record that comes now.
  ReadingPosition place(bool exact) const { return {readings_, exact}; }
  /// Whether waiting for another reading would tell nothing more of a record there.
  bool is_settled(ReadingPosition place) const;

  /// Converts both ends; false: no rate is known. `known()` must be true.
  bool to_mono(TimeSpan* times, ReadingPosition place, const TimeBounds& bounds);

  const std::vector<ClockSegment>& segments() const { return segments_; }
  /// Records that more than one clock was possible for, and by how much they may be off at most.
  std::uint64_t ambiguous() const { return ambiguous_; }
  std::uint64_t ambiguous_by_ns() const { return ambiguous_by_ns_; }
  /// Records that could wait no longer for a good rate, and the largest relative error of theirs.
  std::uint64_t imprecise() const { return rough_; }
  double rough_error() const { return rough_error_; }

 private:
  static constexpr std::uint32_t kTimesKept = 1024;

  std::int64_t clock_step(const wire::ClockSync& sync);
  void begin(const wire::ClockSync& sync);
  std::size_t segment_at(std::uint32_t reading) const;
  std::uint64_t arrival_ns(ReadingPosition place) const;
  std::uint64_t violation_ns(const TimeSpan& span, ReadingPosition place,
                             const TimeBounds& bounds) const;
  bool choose(TimeSpan* times, ReadingPosition place, const TimeBounds& bounds);
  void used(const ClockSegment& segment);
  bool near_change(std::size_t placed, std::size_t other, ReadingPosition place) const;

  std::vector<ClockSegment> segments_;
  ClockFit counter_;
  std::array<std::uint64_t, kTimesKept> times_{};  // of the latest readings
  std::uint32_t readings_ = 0;
  bool seeded_ = false, have_real_ = false;
  std::uint64_t last_mono_ns_ = 0, last_real_ns_ = 0, now_ns_ = ~std::uint64_t{0};
  std::uint64_t ambiguous_ = 0, ambiguous_by_ns_ = 0, rough_ = 0;
  double rough_error_ = 0;
};

}  // namespace gpuprof::ingest
