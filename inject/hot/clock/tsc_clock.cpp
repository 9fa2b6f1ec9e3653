// SPDX-License-Identifier: Apache-2.0
//
// Compares the counter with the clock.
//
// Context:  callback
#include "inject/hot/clock/tsc_clock.hpp"

namespace gpuprof::hot {

constinit std::atomic<bool> g_tsc_is_trusted{false};

#if defined(__x86_64__)

namespace {

/// Ticks between which the clock was read: where they are more, the thread was interrupted each
/// time.
constexpr std::uint64_t kClose = 1u << 11;

struct ClockSnapshot {
  std::uint64_t ticks, ns, gap;
};

ClockSnapshot read_both() {
  const std::uint64_t before = __builtin_ia32_rdtsc();
  const std::uint64_t ns = base::mono_ns();
  const std::uint64_t gap = __builtin_ia32_rdtsc() - before;
  return {before + gap / 2, ns, gap};
}

// Whoever is interrupted between the two has nothing to compare.
ClockSnapshot read_closely() {
  ClockSnapshot best = read_both();
  for (int i = 0; i < 2; ++i) {
    const ClockSnapshot again = read_both();
    if (again.gap <= best.gap) best = again;
  }
  return best;
}

}  // namespace

std::uint64_t TscClock::resync() {
  // However far the counter came, nothing later than this was reported since the last comparison.
  const std::uint64_t reported = ns_ + (kTrusted * slope_ >> 32);
  if (slope_ != 0 && reported > floor_) floor_ = reported;
  std::uint64_t now = 0;
  if (!g_tsc_is_trusted.load(std::memory_order_relaxed)) {
    slope_ = ticks_ = 0;
    now = base::mono_ns();
  } else if (ticks_ != 0 && slope_ == 0 && read() - ticks_ < kEnough) {
    now = base::mono_ns();
  } else {
    const ClockSnapshot both = read_closely();
    if (both.gap < kClose) calibrate(both.ticks, both.ns);
    now = both.ns;
  }
  return now > floor_ ? now : floor_;
}

void TscClock::calibrate(std::uint64_t ticks, std::uint64_t ns) {
  const std::uint64_t passed = ticks - ticks_, elapsed = ns - ns_;
  const bool first = ticks_ == 0;
  ticks_ = ticks;
  ns_ = ns;
  // Also where the counter went back: another processor's, or another machine's.
  if (first || passed < kEnough || elapsed >= kTooLong) return;
  const std::uint64_t slope = (elapsed << 32) / passed;
  const std::uint64_t change = slope > slope_ ? slope - slope_ : slope_ - slope;
  constexpr std::uint64_t kSlowest = std::uint64_t{16} << 32;  // ns a tick
  if (slope > kSlowest || (slope_ != 0 && change > slope_ >> 10))
    slope_ = 0;  // one of the two is wrong
  else
    slope_ = slope_ == 0 ? slope : slope_ - slope_ / 4 + slope / 4;
}

#endif

}  // namespace gpuprof::hot
