// SPDX-License-Identifier: Apache-2.0
//
// Clock conversion.
//
// Context:  any
// Owns:     one leaked calibration for each client
// Promises: see cupti_clock.hpp
// Not here: the entry points
#include "cupti/cupti_clock.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "core/clock.hpp"
#include "core/config.hpp"
#include "cupti/clients.hpp"

namespace gpusim {
namespace {

constexpr std::uint64_t kFirstSpacingNs = 10000000;
constexpr std::uint64_t kLargestSpacingNs = 100000000;
constexpr std::uint64_t kGoodPairNs = 2000;
constexpr std::uint64_t kOffsetCheckNs = 10000000;
constexpr std::uint64_t kOffsetToleranceNs = 1000;

/// The same moment on both clocks.
struct Knot {
  std::uint64_t mono, client;
};

/// The clock of one client. `knots` begins with the registration of `function`.
struct Calibration {
  std::atomic<TimestampFunction> function{nullptr};
  std::mutex mutex;
  std::vector<Knot> knots;
  std::uint64_t spacing_ns = kFirstSpacingNs;
  std::atomic<std::uint64_t> first_record_ns{0};
  std::atomic<bool> scenario_done{false};
};

Calibration& calibration() { return of_client<Calibration>(); }

std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return now_ns() * 3;
#endif
}

constexpr std::uint64_t kStepBackNs = 1000000000;
std::uint64_t stepped_realtime() { return read_clock_ns(CLOCK_REALTIME) - kStepBackNs; }

/// Reads both clocks as close together as possible. Returns how far apart the readings were.
std::uint64_t read_pair(TimestampFunction f, Knot* knot) {
  std::uint64_t best = ~std::uint64_t{0};
  for (int i = 0; i < 8 && best > kGoodPairNs / 4; ++i) {
    const std::uint64_t before = now_ns();
    const std::uint64_t client = f();
    const std::uint64_t width = now_ns() - before;
    if (width >= best) continue;
    best = width;
    *knot = {before + width / 2, client};
  }
  return best;
}

/// Goes from `from` by `distance` monotonic nanoseconds at the rate between knots `a` and `b`.
std::uint64_t travel(const Knot& from, std::int64_t distance, const Knot& a, const Knot& b) {
  const auto rate =
      static_cast<long double>(b.client - a.client) / static_cast<long double>(b.mono - a.mono);
  return from.client + static_cast<std::uint64_t>(
                           static_cast<std::int64_t>(static_cast<long double>(distance) * rate));
}

std::int64_t apart(std::uint64_t later, std::uint64_t earlier) {
  return static_cast<std::int64_t>(later - earlier);
}

void add_knot(Calibration& c, TimestampFunction f) {
  Knot fresh{};
  if (now_ns() <= c.knots.back().mono + c.spacing_ns || read_pair(f, &fresh) >= kGoodPairNs) return;
  c.knots.push_back(fresh);
  c.spacing_ns = std::min(c.spacing_ns * 2, kLargestSpacingNs);
}

/// Straight lines between the knots; outside of them the rate over all. A knot once set never
/// moves, so what lies between two of them always gets the same answer.
std::uint64_t by_knots(const Calibration& c, std::uint64_t mono) {
  const Knot& first = c.knots.front();
  const Knot& last = c.knots.back();
  if (mono >= last.mono) return travel(last, apart(mono, last.mono), first, last);
  if (mono <= first.mono) return travel(first, apart(mono, first.mono), first, last);
  const auto next = std::upper_bound(c.knots.begin(), c.knots.end(), mono,
                                     [](std::uint64_t t, const Knot& k) { return t < k.mono; });
  return travel(next[-1], apart(mono, next[-1].mono), next[-1], *next);
}

/// REALTIME - MONOTONIC. Kept steady against reading jitter, so that equal distances stay equal;
/// follows real steps.
std::uint64_t realtime_offset() {
  static std::atomic<std::uint64_t> offset{0};
  static std::atomic<std::uint64_t> checked{0};
  const std::uint64_t now = now_ns();
  if (now - checked.load(std::memory_order_relaxed) < kOffsetCheckNs)
    return offset.load(std::memory_order_relaxed);
  const std::uint64_t before = now_ns();
  const std::uint64_t real = read_clock_ns(CLOCK_REALTIME);
  const std::uint64_t after = now_ns();
  const std::uint64_t fresh = real - (before + (after - before) / 2);
  const std::uint64_t old = offset.load();
  const auto apart = static_cast<std::int64_t>(fresh - old);
  if (old == 0 || (after - before < kOffsetToleranceNs && (apart > 2000 || apart < -2000)))
    offset.store(fresh);
  checked.store(now);
  return offset.load();
}

}  // namespace

void set_timestamp_function(TimestampFunction function) {
  Calibration& c = calibration();
  const std::lock_guard<std::mutex> lock(c.mutex);
  c.knots.clear();
  c.spacing_ns = kFirstSpacingNs;
  if (function != nullptr && function != stepped_realtime) {
    c.knots.resize(2);
    read_pair(function, &c.knots[0]);
    spin_until(c.knots[0].mono + kFirstSpacingNs);
    read_pair(function, &c.knots[1]);
  }
  c.function.store(function);
}

std::uint64_t cupti_now() {
  const TimestampFunction f = calibration().function.load();
  return f != nullptr ? f() : read_clock_ns(CLOCK_REALTIME);
}

TimeSpan to_cupti(std::uint64_t start_ns, std::uint64_t end_ns) {
  const auto both = [&](const auto& convert) {
    return TimeSpan{start_ns == 0 ? 0 : convert(start_ns), end_ns == 0 ? 0 : convert(end_ns)};
  };
  Calibration& c = calibration();
  const TimestampFunction f = c.function.load();
  if (f == nullptr || f == stepped_realtime) {
    const std::uint64_t offset = realtime_offset() - (f == nullptr ? 0 : kStepBackNs);
    return both([&](std::uint64_t ns) { return ns + offset; });
  }
  const std::lock_guard<std::mutex> lock(c.mutex);
  if (c.knots.size() < 2) return both([&](std::uint64_t) { return f(); });
  add_knot(c, f);
  return both([&](std::uint64_t ns) { return by_knots(c, ns); });
}

void apply_clock_scenarios() {
  const bool tsc = on(Scenario::kTscClock);
  if (!tsc && !on(Scenario::kRealtimeStep)) return;
  Calibration& c = calibration();
  if (c.scenario_done.load()) return;
  std::uint64_t first = 0;
  const std::uint64_t now = now_ns();
  if (c.first_record_ns.compare_exchange_strong(first, now)) return;
  const std::int64_t ms = argument(tsc ? Scenario::kTscClock : Scenario::kRealtimeStep);
  if (now - first < static_cast<std::uint64_t>(ms) * 1000000u || c.scenario_done.exchange(true))
    return;
  set_timestamp_function(tsc ? ticks : stepped_realtime);
}

}  // namespace gpusim
