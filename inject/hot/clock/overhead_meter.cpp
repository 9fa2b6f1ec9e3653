// SPDX-License-Identifier: Apache-2.0
//
// From one timed entry to the cost of many.
//
// Context:  signal | callback
// Owns:     nothing
#include "inject/hot/clock/overhead_meter.hpp"

#include "gpuprof/base/clock.hpp"
#include "inject/hot/state.hpp"

namespace gpuprof::hot {

namespace {

/// What an entry takes that is no exception. What is beyond it, a thread that lost its processor or
/// the first sight of a deep stack, happened to this one alone …
constexpr std::uint64_t kUsualNs = 20'000;
/// … and is not believed beyond this.
constexpr std::uint64_t kMaxNs = 1'000'000;

std::uint64_t least(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

}  // namespace

void OverheadMeter::begin(bool rare, std::uint32_t seed) {
  random_ = seed;
  nearest_ = rare ? 1 : 33;
  mask_ = rare ? 7 : 63;
  choose();
}

void OverheadMeter::choose() {
  random_ = random_ * 1'664'525u + 1'013'904'223u;
  distance_ = left_ = nearest_ + ((random_ >> 16) & mask_);
}

void OverheadMeter::begin_timing(bool delivers) {
  stands_for_ = delivers ? 0 : distance_;
  if (!delivers) choose();
  begun_ns_ = base::mono_ns();
}

std::uint64_t OverheadMeter::end() {
  const std::uint64_t passed_ns = base::mono_ns() - begun_ns_;
  begun_ns_ = 0;
  const std::uint64_t clock_ns = g_state.clock_cost_ns.load(std::memory_order_relaxed);
  const std::uint64_t ns = passed_ns - least(passed_ns, clock_ns);
  if (stands_for_ == 0) return least(ns, 10 * kMaxNs);
  const std::uint64_t usual = least(ns, kUsualNs);
  return usual * stands_for_ + least(ns - usual, kMaxNs);
}

void calibrate_clock_cost() {
  std::uint64_t best = ~std::uint64_t{0};
  std::uint64_t before = base::mono_ns();
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t now = base::mono_ns();
    best = least(best, now - before);
    before = now;
  }
  g_state.clock_cost_ns.store(static_cast<std::uint32_t>(least(best, 1000)),
                              std::memory_order_relaxed);
}

}  // namespace gpuprof::hot
