// SPDX-License-Identifier: Apache-2.0
//
// One clock of CUPTI's records for as long as it ran without a step.
//
// Context:  daemon (ingest thread)
// Owns:     the pieces of its conversion
// Promises: within an era times keep their order but for a few nanoseconds where a piece begins;
//           a duration is the rate times its ticks; bounded
// Not here: which era a record belongs to (clock_tracker.hpp)
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
struct Span {
  std::uint64_t start_ns, end_ns;
};

/// What the clock of this reading seems to be.
ClockSource source_of(const wire::ClockSync& sync);

class Era {
 public:
  /// @param place  readings that came before its first.
  Era(ClockSource source, const wire::ClockSync& first, std::uint32_t place);
  /// CLOCK_REALTIME of a process that has not said a reading yet.
  static Era seeded(std::uint64_t mono_ns, std::uint64_t real_ns);

  /// False: with this reading another era begins.
  bool continues(const wire::ClockSync& sync) const;
  /// @param counter  rate of the time-stamp counter over the whole session.
  void begin(const RateFit& counter);
  void add(const wire::ClockSync& sync, const RateFit& counter);

  /// Whether times can be converted at all.
  bool has_rate() const { return rate_ > 0; }
  /// Whether a millisecond is right to a nanosecond.
  bool has_good_rate() const { return has_rate() && rate_error_ <= kGoodRateError; }
  /// `has_rate()` must be true.
  Span to_mono(std::uint64_t start, std::uint64_t end) const;

  std::uint32_t place() const { return place_; }
  ClockSource source() const { return source_; }
  std::size_t pieces() const { return pieces_.size(); }
  std::uint64_t readings() const { return readings_; }
  std::uint64_t begins_ns() const { return begins_ns_; }
  double rate() const { return rate_; }
  double rate_error() const { return rate_error_; }
  std::uint64_t baseline_ns() const { return baseline_ns_; }
  /// Largest distance between the conversion and a reading that took little time.
  std::uint64_t worst_fit_ns() const { return worst_fit_ns_; }

 private:
  static constexpr double kGoodRateError = 1e-6;
  /// From `cupti` on: mono = mono_ns + (t - cupti) * rate.
  struct Piece {
    std::uint64_t cupti, mono_ns, gap_ns;
    double rate;

    std::uint64_t at(std::uint64_t cupti) const;
  };

  bool counts_nanoseconds() const { return source_ <= ClockSource::kNanoseconds; }
  const Piece& piece_of(std::uint64_t cupti) const;
  void learn(const RateFit& fit);
  void steer(const wire::ClockSync& sync);
  void push(const Piece& piece);

  ClockSource source_;
  std::uint32_t place_;
  std::vector<Piece> pieces_;
  RateFit own_;
  double rate_ = 0, rate_error_ = 1, next_rate_ = 0;
  wire::ClockSync last_{};
  std::uint64_t readings_ = 0, begins_ns_ = 0, baseline_ns_ = 0, worst_fit_ns_ = 0;
};

}  // namespace gpuprof::ingest
