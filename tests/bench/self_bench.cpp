// SPDX-License-Identifier: Apache-2.0
//
// What it costs our own code to measure itself (--max-overhead), and how near what it measures is
// to what it takes: the same calls with the measurement off and on, in turn.
//
// Context:  tests
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "inject/cupti/callbacks/api_callback.hpp"
#include "inject/hot/recorder.hpp"
#include "tests/bench/spread.hpp"
#include "tests/fakes/at_depth.hpp"
#include "tests/unit/sample/sampler_fixture.hpp"

namespace gpuprof {
namespace {

constexpr int kCalls = 5'000;  // fewer than fill the ring buffer
constexpr int kPairs = 200;

using fakes::at_depth;

void measure_itself(bool on) {
  const hot::Guard guard(hot::RingRole::kCallback);
  guard.producer().overhead = hot::OverheadMeter();
  if (on) guard.producer().overhead.begin(false, 1);
}

std::uint64_t own_ns() {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < hot::g_state.ring_count; ++i)
    sum += hot::g_state.rings[i]
               .ring.resolve<wire::RingHeader>(hot::g_state.segment, hot::g_state.segment_bytes)
               ->overhead_ns.load();
  return sum;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Call>
double ns_a_call(Call&& call) {
  return test::seconds_of([&] {
           for (int i = 0; i < kCalls; ++i) call();
         }) *
         1e9 / kCalls;
}

template <typename Call>
void measure(const char* what, int depth, fakes::InProcessSegment& segment, Call&& call) {
  std::vector<double> off, on, more, told;
  auto body = [&] {
    for (int i = 0; i <= kPairs; ++i) {
      double pair[2];
      for (const bool measured : {false, true}) {
        segment.discard_records();  // empties the ring buffer; the first turn only warms
        measure_itself(measured);
        const std::uint64_t before = own_ns();
        pair[measured] = ns_a_call(call);
        if (measured && i > 0) told.push_back(static_cast<double>(own_ns() - before) / kCalls);
      }
      if (i == 0) continue;
      off.push_back(pair[0]);
      on.push_back(pair[1]);
      more.push_back(pair[1] - pair[0]);
    }
  };
  at_depth(depth, body);
  std::printf("%s off %7.1f ns, on %7.1f ns, more %5.2f ns a call; measures itself as %7.1f ns\n",
              what, median(off), median(on), median(more), median(told));
}

void launch() {
  static std::uint32_t correlation = 0;
  CUpti_CallbackData data{};
  data.callbackSite = CUPTI_API_ENTER;
  data.symbolName = "kernel";
  data.correlationId = ++correlation;
  cupti::api_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                      &data);
}

}  // namespace
}  // namespace gpuprof

int main() {
  using namespace gpuprof;
  sample::SamplerFixture sampler;
  sample::Settings settings;
  settings.kind = wire::SamplerKind::kTgkill;
  settings.rate_hz = 1;
  settings.python = false;
  settings.blocked_threads = false;
  sampler.start_sampling(settings);
  hot::calibrate_clock_cost();
  std::printf("reading the clock: %u ns\n", hot::g_state.clock_cost_ns.load());
  measure("guard and record              ", 0, sampler.segment, [] {
    const hot::Guard guard(hot::RingRole::kCallback);
    hot::record(guard, wire::RangePop{1, 1, 0}, 1);
  });
  hot::g_state.on.store(hot::kOnCuda);
  measure("launch callback, no stack     ", 0, sampler.segment, launch);
  hot::g_state.on.store(hot::kOnCuda | hot::kOnLaunchStacks);
  measure("launch callback, stack of 10  ", 10, sampler.segment, launch);
  measure("launch callback, stack of 36  ", 36, sampler.segment, launch);
  std::printf("dropped: %lu\n", sampler.segment.counter(wire::Counter::kDroppedRingFull));
  return 0;
}
