// SPDX-License-Identifier: Apache-2.0
//
// Words for clocks.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/clocks/clock_report.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "daemon/messages/ingest.hpp"
#include "recording/model/clock_metadata.hpp"

namespace gpuprof::ingest {
namespace {

/// A clock that jumps at every reading is described no further.
constexpr std::uint32_t kMaxDescribed = 64;

const char* name_of(ClockSource source) {
  constexpr std::array<const char*, 4> kNames = {
      "CLOCK_REALTIME", messages::ingest::kNanosecondClock, messages::ingest::kTimeStampCounter,
      messages::ingest::kUnknownClock};
  return kNames[static_cast<std::size_t>(source)];
}

void write_fact(model::EventSink& sink, const std::string& key, const std::string& text) {
  sink.on(model::Fact{key, text});
}

std::string change_message(const ClockSegment& segment, std::int64_t stepped) {
  if (stepped != 0) return fmt::format(messages::ingest::kSystemClockSet, stepped / 1'000'000);
  return fmt::format(messages::ingest::kCuptiClockChanged, name_of(segment.source()));
}

}  // namespace

std::string describe_clock(const ClockSegment& segment) {
  const char* name = name_of(segment.source());
  if (segment.baseline_ns() == 0)
    return fmt::format(messages::ingest::kClock, name, segment.rate(), segment.first_reading_ns(),
                       segment.readings(), segment.max_residual_ns());
  return fmt::format(messages::ingest::kFittedClock, name, segment.rate(),
                     segment.rate_error() * 1e6, static_cast<double>(segment.baseline_ns()) / 1e9,
                     segment.first_reading_ns(), segment.readings(), segment.max_residual_ns());
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
