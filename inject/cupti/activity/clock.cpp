// SPDX-License-Identifier: Apache-2.0
//
// Reads the clocks.
//
// Context:  worker | our flush thread
// Owns:     nothing
#include "inject/cupti/activity/clock.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "gpuprof/base/clock.hpp"
#include "inject/hot/recorder.hpp"

namespace gpuprof::cupti {

namespace {

constexpr int kTries = 5;
constexpr std::uint64_t kForeignNs = 1'000'000'000;

std::uint64_t counter() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}

wire::ClockSync read_once(const Api& api) {
  wire::ClockSync sync{};
  const std::uint64_t before = base::mono_ns();
  if (api.cuptiGetTimestamp(&sync.cupti_ns) != CUPTI_SUCCESS) sync.cupti_ns = 0;
  sync.real_ns = base::real_ns();
  sync.boot_ns = base::boot_ns();
  sync.tsc = counter();
  const std::uint64_t after = base::mono_ns();
  sync.mono_ns = before + (after - before) / 2;
  sync.uncertainty_ns = after - before;
  return sync;
}

}  // namespace

bool is_foreign(std::uint64_t cupti_ns, std::uint64_t real_ns) {
  const std::uint64_t apart = cupti_ns > real_ns ? cupti_ns - real_ns : real_ns - cupti_ns;
  return cupti_ns != 0 && apart > kForeignNs;
}

wire::ClockSync read_clocks(const Api& api) {
  wire::ClockSync best = read_once(api);
  for (int i = 1; i < kTries; ++i) {
    const wire::ClockSync next = read_once(api);
    if (next.uncertainty_ns < best.uncertainty_ns) best = next;
  }
  if (is_foreign(best.cupti_ns, best.real_ns)) best.flags |= wire::kClockForeign;
  return best;
}

bool record_clock(const Api& api) {
  const wire::ClockSync sync = read_clocks(api);
  const hot::Guard guard(hot::RingRole::kCallback);
  if (guard) hot::record(guard, sync, sync.mono_ns);
  return (sync.flags & wire::kClockForeign) != 0;
}

}  // namespace gpuprof::cupti
