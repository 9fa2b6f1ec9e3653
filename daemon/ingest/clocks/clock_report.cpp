// SPDX-License-Identifier: Apache-2.0
//
// Words for clocks.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/clocks/clock_report.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "recording/model/clock_metadata.hpp"

namespace gpuprof::ingest {
namespace {

/// A clock that jumps at every reading is described no further.
constexpr std::uint32_t kMaxDescribed = 64;

const char* name_of(ClockSource source) {
  constexpr std::array<const char*, 4> kNames = {"CLOCK_REALTIME", "a clock of nanoseconds",
                                                 "the time-stamp counter",
                                                 "a clock of unknown kind"};
  return kNames[static_cast<std::size_t>(source)];
}

void write_fact(model::EventSink& sink, const std::string& key, const std::string& text) {
  sink.on(model::Fact{key, text});
}

std::string change_message(const ClockSegment& segment, std::int64_t stepped) {
  if (stepped != 0)
    return "The system's clock was set by " + std::to_string(stepped / 1'000'000) +
           " ms while recording; GPU times before and after are converted each with their own "
           "offset.";
  return std::string(
             "CUPTI's clock was changed while recording, by the program or a profiler in "
             "it, and is ") +
         name_of(segment.source()) + " since; GPU times are converted from each in turn.";
}

}  // namespace

std::string describe_clock(const ClockSegment& segment) {
  std::array<char, 96> rate{}, fit{};
  std::snprintf(rate.data(), rate.size(), ", 1 tick = %.10g ns", segment.rate());
  if (segment.baseline_ns() != 0)
    std::snprintf(fit.data(), fit.size(), " (to %.2g ppm, from readings %.3g s apart)",
                  segment.rate_error() * 1e6, static_cast<double>(segment.baseline_ns()) / 1e9);
  return std::string(name_of(segment.source())) + rate.data() + fit.data() + "; since " +
         std::to_string(segment.first_reading_ns()) + ", " + std::to_string(segment.readings()) +
         " readings, off by " + std::to_string(segment.max_residual_ns()) + " ns at most";
}

void ClockReport::reading(model::EventSink& sink, const ClockTracker& clocks, std::uint64_t ts_ns,
                          std::int64_t stepped) {
  if (!clocks.known()) return;
  const ClockSegment& latest = clocks.segments().back();
  const bool changed = latest.first_reading() != place_ || numbered_ == 0;
  if (stepped != 0 || (changed && numbered_ != 0 && numbered_ < kMaxDescribed)) {
    const std::string text = change_message(latest, stepped);
    sink.on(model::Notice{ts_ns, 0, 0, 0, text});
  }
  if (changed) {
    ++numbered_;
    place_ = latest.first_reading();
    next_readings_ = 0;
  }
  if (latest.readings() < next_readings_) return;
  next_readings_ = latest.readings() * 2;
  write_latest(sink, clocks);
}

void ClockReport::write_latest(model::EventSink& sink, const ClockTracker& clocks) {
  if (numbered_ == 0 || numbered_ > kMaxDescribed) return;
  write_fact(sink, "clock." + std::to_string(numbered_), describe_clock(clocks.segments().back()));
}

void ClockReport::round_done(model::EventSink& sink, const ClockTracker& clocks) {
  if (clocks.imprecise() != rough_written_) {
    rough_written_ = clocks.imprecise();
    write_fact(sink, model::kClockImprecise, std::to_string(rough_written_));
    write_fact(sink, model::kClockImprecisePpm,
               std::to_string(std::llround(std::ceil(clocks.rough_error() * 1e6))));
  }
  if (clocks.ambiguous() == ambiguous_written_) return;
  ambiguous_written_ = clocks.ambiguous();
  write_fact(sink, model::kClockAmbiguous, std::to_string(ambiguous_written_));
  write_fact(sink, model::kClockAmbiguousNs, std::to_string(clocks.ambiguous_by_ns()));
}

void ClockReport::finish(model::EventSink& sink, const ClockTracker& clocks) {
  write_latest(sink, clocks);
  round_done(sink, clocks);
}

}  // namespace gpuprof::ingest
