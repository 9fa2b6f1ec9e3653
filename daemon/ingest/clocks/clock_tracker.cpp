// SPDX-License-Identifier: Apache-2.0
//
// Which clock segment a record belongs to.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/clocks/clock_tracker.hpp"

#include <algorithm>

namespace gpuprof::ingest {
namespace {

constexpr std::size_t kMaxSegments = 64;
constexpr std::int64_t kStepNs = 1'000'000;
/// GPU times are themselves converted, by the driver, from a clock of the device.
constexpr std::uint64_t kJitterNs = 200'000;
/// From this many readings on nothing written with the clock before can come any more, unless its
/// times say so.
constexpr std::uint32_t kLateReadings = 8;
/// The delivery around a change and the next one hold records of both clocks.
constexpr std::uint32_t kNearReadings = 2, kInexactReadings = 2;
/// Nobody sees a smaller difference.
constexpr std::uint64_t kSameNs = 5'000;

std::uint64_t beyond(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

}  // namespace

void ClockTracker::seed(std::uint64_t mono_ns, std::uint64_t real_ns) {
  if (known()) return;
  segments_.push_back(ClockSegment::seeded(mono_ns, real_ns));
  seeded_ = true;
}

std::int64_t ClockTracker::clock_step(const wire::ClockSync& sync) {
  // Modulo 2^64: what a process says may be any number.
  const auto moved =
      static_cast<std::int64_t>(sync.real_ns - sync.mono_ns - (last_real_ns_ - last_mono_ns_));
  const bool comparable = have_real_;
  have_real_ = true;
  last_mono_ns_ = sync.mono_ns;
  last_real_ns_ = sync.real_ns;
  return comparable && (moved > kStepNs || moved < -kStepNs) ? moved : 0;
}

std::int64_t ClockTracker::add(const wire::ClockSync& sync) {
  const std::int64_t stepped = clock_step(sync);
  if (sync.tsc != 0) counter_.add(sync.tsc, sync.mono_ns, sync.uncertainty_ns);
  if (sync.cupti_ns == 0) return stepped;
  times_[readings_ % kTimesKept] = sync.mono_ns;
  if (seeded_) segments_.clear();
  seeded_ = false;
  if (!segments_.empty() && segments_.back().continues(sync))
    segments_.back().add(sync, counter_);
  else
    begin(sync);
  ++readings_;
  return stepped;
}

void ClockTracker::begin(const wire::ClockSync& sync) {
  if (segments_.size() == kMaxSegments) segments_.erase(segments_.begin());
  segments_.emplace_back(classify_clock(sync), sync, readings_);
  segments_.back().begin(counter_);
}

/// The clock segment in force at a reading; of one yet to come, the latest.
std::size_t ClockTracker::segment_at(std::uint32_t reading) const {
  std::size_t i = segments_.size() - 1;
  while (i > 0 && segments_[i].first_reading() > reading) --i;
  return i;
}

bool ClockTracker::is_settled(ReadingPosition place) const {
  if (seeded_) return true;
  const std::uint32_t next = place.readings + (place.exact ? 0 : 1);
  if (readings_ <= next) return false;
  const std::size_t segment = segment_at(next);
  return segment + 1 < segments_.size() || segments_[segment].has_good_rate();
}

/// A record ended before the first reading that certainly came after it.
std::uint64_t ClockTracker::arrival_ns(ReadingPosition place) const {
  const std::uint32_t next = place.readings + (place.exact ? 0 : 1);
  if (next >= readings_ || readings_ - next > kTimesKept) return now_ns_;
  return std::min(times_[next % kTimesKept], now_ns_);
}

/// How far these times are from possible.
std::uint64_t ClockTracker::violation_ns(const TimeSpan& span, ReadingPosition place,
                                         const TimeBounds& bounds) const {
  return std::max({beyond(bounds.earliest_start_ns, span.start_ns),
                   beyond(span.start_ns, bounds.latest_start_ns),
                   beyond(bounds.earliest_end_ns, span.end_ns),
                   beyond(span.end_ns, arrival_ns(place))});
}

void ClockTracker::used(const ClockSegment& segment) {
  if (segment.has_good_rate()) return;
  ++rough_;
  rough_error_ = std::max(rough_error_, segment.rate_error());
}

bool ClockTracker::to_mono(TimeSpan* times, ReadingPosition place, const TimeBounds& bounds) {
  const ClockSegment& latest = segments_.back();
  const bool settled = place.readings >= latest.first_reading() + kLateReadings;
  if ((settled || segments_.size() == 1) && latest.has_rate()) {
    const TimeSpan span = latest.to_mono(times->start_ns, times->end_ns);
    if (segments_.size() == 1 || violation_ns(span, place, bounds) <= kJitterNs) {
      *times = span;
      used(latest);
      return true;
    }
  }
  return choose(times, place, bounds);
}

bool ClockTracker::near_change(std::size_t placed, std::size_t other, ReadingPosition place) const {
  if (placed + 1 < other || other + 1 < placed) return false;
  const std::uint32_t change = segments_[std::max(placed, other)].first_reading();
  const std::uint32_t near = kNearReadings + (place.exact ? 0 : kInexactReadings);
  return place.readings <= change + near && change <= place.readings + near;
}

// The clock segment of the reading before it, unless its times are impossible there and possible in
// another. Possible in none, by what a thread lost the processor for: the one that comes nearest.
bool ClockTracker::choose(TimeSpan* times, ReadingPosition place, const TimeBounds& bounds) {
  const std::size_t placed = segment_at(place.readings == 0 ? 0 : place.readings - 1);
  const auto of = [&](std::size_t segment) {
    return segments_[segment].to_mono(times->start_ns, times->end_ns);
  };
  const auto miss = [&](std::size_t segment) {
    return segments_[segment].has_rate() ? violation_ns(of(segment), place, bounds)
                                         : ~std::uint64_t{0};
  };
  std::size_t selected = placed;
  std::uint64_t least_ns = miss(placed), off_ns = 0;
  const bool at_home = least_ns <= kJitterNs, known = segments_[placed].has_rate();
  for (std::size_t segment = segments_.size(); segment-- > 0;) {
    if (segment == placed || (at_home && !near_change(placed, segment, place))) continue;
    const std::uint64_t its_ns = miss(segment);
    if (least_ns > kJitterNs && its_ns < least_ns && (known || its_ns <= kJitterNs))
      selected = segment, least_ns = its_ns;
    else if (its_ns <= kJitterNs)
      off_ns = std::max({off_ns, beyond(of(segment).start_ns, of(selected).start_ns),
                         beyond(of(selected).start_ns, of(segment).start_ns)});
  }
  if (!segments_[selected].has_rate()) return false;
  if (off_ns > kSameNs) {
    ++ambiguous_;
    ambiguous_by_ns_ = std::max(ambiguous_by_ns_, off_ns);
  }
  *times = of(selected);
  used(segments_[selected]);
  return true;
}

}  // namespace gpuprof::ingest
