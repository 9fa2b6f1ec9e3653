// SPDX-License-Identifier: Apache-2.0
//
// Readings become pieces: a new one begins only where the two clocks really moved apart.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/clocks/clock_segment.hpp"

#include <algorithm>
#include <cmath>

namespace gpuprof::ingest {
namespace {

constexpr std::size_t kMaxPieces = 4096;
/// NTP slews at most 0.5 ms a second; a difference above this between two readings is a step.
constexpr std::int64_t kClockStepNs = 1'000'000;
constexpr std::uint64_t kSlewDivisor = 1000;
/// Within the uncertainty of two readings nothing is known to have changed, and a piece that
/// starts anyway would let neighbouring kernels overlap by the difference.
constexpr std::int64_t kSlackNs = 200;
/// A fitted clock that is off is brought back within this time, so that its times have no jump.
constexpr double kHorizonNs = 1e8;
constexpr std::int64_t kMaxSteeredNs = 5'000;
constexpr std::uint64_t kMaxGapNs = 1'000'000;
/// Of a reading that took longer nobody expects a good fit.
constexpr std::uint64_t kFineGapNs = 1'000;

constexpr std::uint64_t kSecondNs = 1'000'000'000, kDayNs = 86'400 * kSecondNs;
/// Reading the counter after CUPTI's clock takes a little; no counter runs faster than 8 GHz.
constexpr std::uint64_t kCounterTicks = 10'000, kTicksPerNs = 8;
/// A fitted rate this near to 1 is a clock of nanoseconds: the readings are not better.
constexpr double kOneRate = 5e-6;

std::uint64_t apart(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

std::int64_t difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

std::uint64_t size_of(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

std::int64_t scaled(std::int64_t ticks, double rate) {
  constexpr double kMax = 4e18;  // what comes from the target may be any number
  const double ns = static_cast<double>(ticks) * rate;
  return static_cast<std::int64_t>(std::clamp(ns < 0 ? ns - 0.5 : ns + 0.5, -kMax, kMax));
}

}  // namespace

ClockSource classify_clock(const wire::ClockSync& sync) {
  if (apart(sync.cupti_ns, sync.real_ns) <= kSecondNs / 10) return ClockSource::kRealtime;
  const std::uint64_t gap_ns = std::min(sync.uncertainty_ns, kMaxGapNs);
  if (sync.tsc != 0 && apart(sync.cupti_ns, sync.tsc) <= kCounterTicks + kTicksPerNs * gap_ns)
    return ClockSource::kCounter;
  if (apart(sync.cupti_ns, sync.real_ns) <= kDayNs ||
      apart(sync.cupti_ns, sync.mono_ns) <= kSecondNs ||
      apart(sync.cupti_ns, sync.boot_ns) <= kSecondNs)
    return ClockSource::kNanoseconds;
  return ClockSource::kUnknown;
}

std::uint64_t ClockSegment::LinearPiece::at(std::uint64_t time) const {
  if (rate == 1) return mono_ns + (time - cupti);
  return mono_ns + static_cast<std::uint64_t>(scaled(difference(time, cupti), rate));
}

ClockSegment::ClockSegment(ClockSource source, const wire::ClockSync& first,
                           std::uint32_t first_reading)
    : source_(source),
      place_(first_reading),
      last_(first),
      readings_(1),
      begins_ns_(first.mono_ns) {
  if (counts_nanoseconds()) rate_ = 1, rate_error_ = 0;
  push({first.cupti_ns, first.mono_ns, std::min(first.uncertainty_ns, kMaxGapNs), rate_});
  own_.add(first.cupti_ns, first.mono_ns, first.uncertainty_ns);
}

ClockSegment ClockSegment::seeded(std::uint64_t mono_ns, std::uint64_t real_ns) {
  wire::ClockSync hello{};
  hello.cupti_ns = hello.real_ns = real_ns;
  hello.mono_ns = mono_ns;
  return {ClockSource::kRealtime, hello, 0};
}

// Two clocks of nanoseconds are distinguished by a step alone: one that was set by more than the
// border between their names is still the same.
bool ClockSegment::continues(const wire::ClockSync& sync) const {
  const ClockSource source = classify_clock(sync);
  if (source != source_ && !(counts_nanoseconds() && source <= ClockSource::kNanoseconds))
    return false;
  const std::uint64_t passed = sync.mono_ns - last_.mono_ns;
  const std::uint64_t most =
      kClockStepNs + passed / kSlewDivisor + sync.uncertainty_ns + last_.uncertainty_ns;
  if (counts_nanoseconds())
    return size_of(difference(sync.cupti_ns - sync.mono_ns, last_.cupti_ns - last_.mono_ns)) <=
           most;
  if (sync.cupti_ns < last_.cupti_ns) return false;
  if (!has_good_rate()) return true;
  return apart(pieces_.back().at(sync.cupti_ns), sync.mono_ns) <= most;
}

void ClockSegment::begin(const ClockFit& counter) {
  if (source_ == ClockSource::kCounter) update_rate(counter);
}

void ClockSegment::add(const wire::ClockSync& sync, const ClockFit& counter) {
  ++readings_;
  last_ = sync;
  if (!counts_nanoseconds()) {
    own_.add(sync.cupti_ns, sync.mono_ns, sync.uncertainty_ns);
    update_rate(source_ == ClockSource::kCounter && counter.known() ? counter : own_);
  }
  if (has_rate()) slew(sync);
}

// Until the rate is good no record has been converted but in a hurry, and the line is free to turn
// around its best reading.
void ClockSegment::update_rate(const ClockFit& fit) {
  if (!fit.known()) return;
  next_rate_ = fit.rate();
  if (source_ == ClockSource::kUnknown && std::abs(next_rate_ - 1) <= kOneRate + fit.error())
    next_rate_ = 1;
  const bool turn = !has_good_rate();
  rate_error_ = next_rate_ == 1 ? std::min(fit.error(), kGoodRateError) : fit.error();
  baseline_ns_ = fit.baseline_ns();
  rate_ = next_rate_;
  if (!turn) return;
  LinearPiece& first = pieces_.front();
  const std::uint64_t gap_ns = std::min(last_.uncertainty_ns, kMaxGapNs);
  if (gap_ns < first.gap_ns) first = {last_.cupti_ns, last_.mono_ns, gap_ns, rate_};
  first.rate = rate_;
}

void ClockSegment::slew(const wire::ClockSync& sync) {
  const LinearPiece& last = pieces_.back();
  const std::uint64_t reported = last.at(sync.cupti_ns);
  const std::int64_t off = difference(sync.mono_ns, reported);
  const std::uint64_t gap_ns = std::min(sync.uncertainty_ns, kMaxGapNs);
  if (gap_ns <= kFineGapNs) worst_fit_ns_ = std::max(worst_fit_ns_, size_of(off));
  const std::uint64_t both_ns = last.gap_ns + gap_ns;
  const bool fitted = !counts_nanoseconds();
  if (size_of(off) <= (fitted ? both_ns / 2 : both_ns) + kSlackNs) return;
  if (!fitted || size_of(off) > kMaxSteeredNs)
    return push({sync.cupti_ns, sync.mono_ns, gap_ns, rate_});
  const double rate = next_rate_ * (1 + static_cast<double>(off) / kHorizonNs);
  push({sync.cupti_ns, reported, gap_ns, rate});
}

void ClockSegment::push(const LinearPiece& piece) {
  if (pieces_.size() == kMaxPieces) pieces_.erase(pieces_.begin() + 1);
  pieces_.push_back(piece);
}

const ClockSegment::LinearPiece& ClockSegment::piece_of(std::uint64_t cupti) const {
  for (std::size_t i = pieces_.size(); i-- > 1;)
    if (cupti >= pieces_[i].cupti) return pieces_[i];
  return pieces_.front();
}

TimeSpan ClockSegment::to_mono(std::uint64_t start, std::uint64_t end) const {
  const LinearPiece& piece = piece_of(start);
  const std::uint64_t start_ns = piece.at(start);
  if (piece.rate == 1) return {start_ns, start_ns + (end - start)};
  return {start_ns, start_ns + static_cast<std::uint64_t>(scaled(difference(end, start), rate_))};
}

}  // namespace gpuprof::ingest
