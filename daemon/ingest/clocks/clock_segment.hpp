// SPDX-License-Identifier: Apache-2.0
//
// A period in which the clock of CUPTI's records ran without a step.
//
// Context:  daemon (ingest thread)
// Owns:     the pieces of its conversion
// Promises: within a clock segment times keep their order but for a few nanoseconds where a piece
//           begins; a duration is the rate times its ticks; bounded
// Not here: which clock segment a record belongs to (clock_tracker.hpp)
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/ingest/clocks/clock_fit.hpp"
#include "gpuprof/wire/records.hpp"

namespace gpuprof::ingest {

/// What CUPTI's clock counts.
enum class ClockSource : std::uint8_t {
  kRealtime,     // CLOCK_REALTIME
  kNanoseconds,  // another clock that counts nanoseconds
  kCounter,      // the processor's time-stamp counter
  kUnknown,      // anything else, at a rate of its own
};

/// Both ends of a record on CLOCK_MONOTONIC.
struct TimeSpan {
  std::uint64_t start_ns, end_ns;
};

/// What the clock of this reading seems to be.
ClockSource classify_clock(const wire::ClockSync& sync);

class ClockSegment {
 public:
  /// @param first_reading  readings that came before its first.
  ClockSegment(ClockSource source, const wire::ClockSync& first, std::uint32_t first_reading);
  /// CLOCK_REALTIME of a process that has not said a reading yet.
  static ClockSegment seeded(std::uint64_t mono_ns, std::uint64_t real_ns);

  /// False: with this reading another clock segment begins.
  bool continues(const wire::ClockSync& sync) const;
  /// @param counter  rate of the time-stamp counter over the whole session.
  void begin(const ClockFit& counter);
  void add(const wire::ClockSync& sync, const ClockFit& counter);

  /// Whether times can be converted at all.
  bool has_rate() const { return rate_ > 0; }
  /// Whether a millisecond is right to a nanosecond.
  bool has_good_rate() const { return has_rate() && rate_error_ <= kGoodRateError; }
  /// `has_rate()` must be true.
  TimeSpan to_mono(std::uint64_t start, std::uint64_t end) const;

  std::uint32_t first_reading() const { return place_; }
  ClockSource source() const { return source_; }
  std::size_t pieces() const { return pieces_.size(); }
  std::uint64_t readings() const { return readings_; }
  std::uint64_t first_reading_ns() const { return begins_ns_; }
  double rate() const { return rate_; }
  double rate_error() const { return rate_error_; }
  std::uint64_t baseline_ns() const { return baseline_ns_; }
  /// Largest distance between the conversion and a reading that took little time.
  std::uint64_t max_residual_ns() const { return worst_fit_ns_; }

 private:
  static constexpr double kGoodRateError = 1e-6;
  /// From `cupti` on: mono = mono_ns + (t - cupti) * rate.
  struct LinearPiece {
    std::uint64_t cupti, mono_ns, gap_ns;
    double rate;

    std::uint64_t at(std::uint64_t cupti) const;
  };

  bool counts_nanoseconds() const { return source_ <= ClockSource::kNanoseconds; }
  const LinearPiece& piece_of(std::uint64_t cupti) const;
  void update_rate(const ClockFit& fit);
  void slew(const wire::ClockSync& sync);
  void push(const LinearPiece& piece);

  ClockSource source_;
  std::uint32_t place_;
  std::vector<LinearPiece> pieces_;
  ClockFit own_;
  double rate_ = 0, rate_error_ = 1, next_rate_ = 0;
  wire::ClockSync last_{};
  std::uint64_t readings_ = 0, begins_ns_ = 0, baseline_ns_ = 0, worst_fit_ns_ = 0;
};

}  // namespace gpuprof::ingest
