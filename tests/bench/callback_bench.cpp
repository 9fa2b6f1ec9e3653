// SPDX-License-Identifier: Apache-2.0
//
// What our two callbacks of a launch, at its entry and its exit, cost the launching thread: without
// and with a cached stack, by the clock and by the processor's counter, against empty ones.
//
// Context:  tests
#include <cstdint>
#include <cstdio>
#include <vector>

#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/api_callback.hpp"
#include "tests/bench/spread.hpp"
#include "tests/fakes/at_depth.hpp"
#include "tests/unit/sample/sampler_fixture.hpp"

namespace gpuprof {
namespace {

using Callback = void (*)(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*);

void CUPTIAPI empty_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

CUptiResult CUPTIAPI name_of(CUpti_CallbackDomain, std::uint32_t, const char** name) {
  *name = "cuLaunchKernel";
  return CUPTI_SUCCESS;
}

constexpr int kCalls = 2'000;  // fewer than fill the ring buffer
constexpr int kRepetitions = 15;

using fakes::at_depth;

double ns_per_call(Callback callback, std::uint32_t& correlation) {
  int result = 0;
  CUpti_CallbackData data{};
  data.functionReturnValue = &result;
  data.symbolName = "kernel";
  Callback volatile called = callback;
  const double seconds = test::seconds_of([&] {
    for (int i = 0; i < kCalls; ++i) {
      data.correlationId = ++correlation;
      data.callbackSite = CUPTI_API_ENTER;
      called(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
      data.callbackSite = CUPTI_API_EXIT;
      called(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    }
  });
  return seconds * 1e9 / kCalls;
}

void measure(const char* what, int depth, Callback callback, fakes::InProcessSegment& segment) {
  static std::uint32_t correlation = 0;
  std::vector<double> ns;
  auto body = [&] {
    for (int i = 0; i <= kRepetitions; ++i) {
      segment.discard_records();  // empties the ring buffer; the first turn only warms
      const double each = ns_per_call(callback, correlation);
      if (i > 0) ns.push_back(each);
    }
  };
  at_depth(depth, body);
  test::print_spread(what, ns, "ns a call");
}

void measure_all(const char* clock, fakes::InProcessSegment& segment) {
  char what[64];
  hot::g_state.on.store(hot::kOnCuda);
  std::snprintf(what, sizeof what, "%s, no stack               ", clock);
  measure(what, 0, cupti::api_callback, segment);
  hot::g_state.on.store(hot::kOnCuda | hot::kOnLaunchStacks);
  for (const int depth : {10, 36, 76}) {
    std::snprintf(what, sizeof what, "%s, cached stack, depth %2d ", clock, depth);
    measure(what, depth, cupti::api_callback, segment);
  }
}

}  // namespace
}  // namespace gpuprof

int main() {
  using namespace gpuprof;
  cupti::g_callback_state.api.cuptiGetCallbackName = name_of;
  sample::SamplerFixture sampler;
  sample::Settings settings;
  settings.kind = wire::SamplerKind::kTgkill;
  settings.rate_hz = 1;
  settings.python = false;
  settings.blocked_threads = false;
  sampler.start_sampling(settings);
  measure("baseline: empty callbacks       ", 0, empty_callback, sampler.segment);
  measure_all("the clock  ", sampler.segment);
  hot::check_clocksource();
  measure_all("the counter", sampler.segment);
  std::printf("dropped: %lu\n", sampler.segment.counter(wire::Counter::kDroppedRingFull));
  return 0;
}
