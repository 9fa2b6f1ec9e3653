// SPDX-License-Identifier: Apache-2.0
//
// The pair of readings that bounds the rate best.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/clocks/clock_fit.hpp"

#include <algorithm>
#include <cmath>

namespace gpuprof::ingest {
namespace {

/// Ten seconds: far enough apart that a gap of 100 ns is 0.01 ppm, near enough to follow NTP.
constexpr std::size_t kMaxPoints = 10;
constexpr std::uint64_t kSpacingNs = 1'000'000'000;
/// Two readings around a flush of nothing say little.
constexpr std::uint64_t kMinBaselineNs = 1'000'000;
/// NTP changes the rate by this much anyway.
constexpr double kGoodError = 5e-8;
constexpr std::uint64_t kStaleNs = 4'000'000'000;
constexpr double kMinRate = 1e-4, kMaxRate = 1e4;
constexpr double kFitStepNs = 1e6, kMaxSlew = 1e-3;

}  // namespace

void ClockFit::add(std::uint64_t ticks, std::uint64_t mono_ns, std::uint64_t gap_ns) {
  const Point now{ticks, mono_ns, gap_ns};
  if (jumped(now)) *this = ClockFit{};
  fit(now);
  keep(now);
}

/// A suspended machine, a counter that began anew: what was known before says nothing of it.
bool ClockFit::jumped(const Point& now) const {
  if (points_.empty()) return false;
  const Point& last = points_.back();
  if (now.ticks <= last.ticks || now.mono_ns < last.mono_ns) return true;
  if (!known()) return false;
  const auto passed = static_cast<double>(now.mono_ns - last.mono_ns);
  const double reported = static_cast<double>(now.ticks - last.ticks) * rate_;
  return std::abs(reported - passed) >
         kFitStepNs + passed * (kMaxSlew + error_) + static_cast<double>(now.gap_ns + last.gap_ns);
}

void ClockFit::fit(const Point& now) {
  double best = 1;
  const Point* from = nullptr;
  for (const Point& point : points_) {
    if (now.mono_ns - point.mono_ns < kMinBaselineNs && known()) continue;
    if (now.mono_ns == point.mono_ns) continue;
    const double error = static_cast<double>(point.gap_ns + now.gap_ns) / 2 /
                         static_cast<double>(now.mono_ns - point.mono_ns);
    if (error >= best) continue;
    best = error;
    from = &point;
  }
  if (from == nullptr) return;
  const bool stale = now.mono_ns - fitted_ns_ > kStaleNs && best < 40 * kGoodError;
  if (best > std::max(error_, kGoodError) && !stale) return;
  const double rate = static_cast<double>(now.mono_ns - from->mono_ns) /
                      static_cast<double>(now.ticks - from->ticks);
  if (!(rate > kMinRate && rate < kMaxRate)) return;
  rate_ = rate;
  error_ = best;
  baseline_ns_ = now.mono_ns - from->mono_ns;
  fitted_ns_ = now.mono_ns;
}

void ClockFit::keep(const Point& now) {
  const bool much_better = !points_.empty() && now.gap_ns < points_.back().gap_ns / 2;
  if (!points_.empty() && now.mono_ns - points_.back().mono_ns < kSpacingNs && !much_better) return;
  if (points_.size() == kMaxPoints) points_.erase(points_.begin());
  points_.push_back(now);
}

}  // namespace gpuprof::ingest
