// SPDX-License-Identifier: Apache-2.0
//
// Clock conversion.
//
// Context:  any
// Owns:     one leaked calibration
// Promises: see cupti_clock.hpp
// Not here: the entry points
#include "cupti/cupti_clock.hpp"

#include <atomic>
#include <mutex>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "core/clock.hpp"
#include "core/config.hpp"

namespace gpusim {
namespace {

constexpr std::uint64_t kRecalibrateNs = 1000000;
constexpr std::uint64_t kOffsetCheckNs = 10000000;
constexpr std::uint64_t kOffsetToleranceNs = 1000;

struct Calibration {
  std::mutex mutex;
  std::uint64_t mono_0, client_0;
  std::uint64_t mono_1, client_1;
};

std::atomic<TimestampFunction> g_function{nullptr};
std::atomic<std::uint64_t> g_first_record_ns{0};
std::atomic<bool> g_scenario_done{false};

Calibration& calibration() {
  static auto* const c = new Calibration{};
  return *c;
}

std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return now_ns() * 3;
#endif
}

std::uint64_t stepped_realtime() { return read_clock_ns(CLOCK_REALTIME) - 1000000000u; }

/// Reads both clocks as close together as possible.
void read_pair(TimestampFunction f, std::uint64_t* mono, std::uint64_t* client) {
  const std::uint64_t before = now_ns();
  *client = f();
  *mono = before + (now_ns() - before) / 2;
}

std::uint64_t convert(TimestampFunction f, std::uint64_t mono) {
  Calibration& c = calibration();
  const std::lock_guard<std::mutex> lock(c.mutex);
  if (now_ns() - c.mono_1 > kRecalibrateNs || c.mono_1 <= c.mono_0)
    read_pair(f, &c.mono_1, &c.client_1);
  const double rate = c.mono_1 > c.mono_0 ? static_cast<double>(c.client_1 - c.client_0) /
                                                static_cast<double>(c.mono_1 - c.mono_0)
                                          : 1.0;
  const auto away = static_cast<double>(static_cast<std::int64_t>(mono - c.mono_1));
  return c.client_1 + static_cast<std::uint64_t>(static_cast<std::int64_t>(away * rate));
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
  if (function != nullptr) read_pair(function, &c.mono_0, &c.client_0);
  c.mono_1 = 0;
  g_function.store(function);
}

std::uint64_t cupti_now() {
  const TimestampFunction f = g_function.load();
  return f != nullptr ? f() : read_clock_ns(CLOCK_REALTIME);
}

std::uint64_t to_cupti(std::uint64_t monotonic_ns) {
  if (monotonic_ns == 0) return 0;
  const TimestampFunction f = g_function.load();
  return f != nullptr ? convert(f, monotonic_ns) : monotonic_ns + realtime_offset();
}

void clock_scenarios() {
  const bool tsc = on(Scenario::kTscClock);
  if ((!tsc && !on(Scenario::kRealtimeStep)) || g_scenario_done.load()) return;
  std::uint64_t first = 0;
  const std::uint64_t now = now_ns();
  if (g_first_record_ns.compare_exchange_strong(first, now)) return;
  const std::int64_t ms = argument(tsc ? Scenario::kTscClock : Scenario::kRealtimeStep);
  if (now - first < static_cast<std::uint64_t>(ms) * 1000000u || g_scenario_done.exchange(true))
    return;
  set_timestamp_function(tsc ? ticks : stepped_realtime);
}

}  // namespace gpusim
