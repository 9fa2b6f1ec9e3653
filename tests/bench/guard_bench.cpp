// SPDX-License-Identifier: Apache-2.0
//
// What one record costs whose thread has its ring buffer: entering our code, pushing, leaving it.
//
// Context:  tests
#include <cstdint>
#include <vector>

#include "inject/hot/recorder.hpp"
#include "tests/bench/spread.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof {
namespace {

constexpr int kCalls = 10'000;  // fewer than fill the ring buffer
constexpr int kRepetitions = 200;

template <typename Body>
void measure(const char* what, fakes::InProcessSegment& segment, Body&& body) {
  std::vector<double> ns;
  for (int i = 0; i <= kRepetitions; ++i) {
    segment.discard_records();  // empties the ring buffer; the first turn only warms
    const double seconds = test::seconds_of([&] {
      for (int call = 0; call < kCalls; ++call) body(static_cast<std::uint64_t>(call));
    });
    if (i > 0) ns.push_back(seconds * 1e9 / kCalls);
  }
  test::print_spread(what, ns, "ns");
}

}  // namespace
}  // namespace gpuprof

int main() {
  using namespace gpuprof;
  fakes::InProcessSegment segment;
  measure("guard alone      ", segment, [](std::uint64_t) {
    const hot::Guard guard(hot::RingRole::kCallback);
    if (!guard) std::abort();
    asm volatile("" ::: "memory");
  });
  measure("guard and record ", segment, [](std::uint64_t ts_ns) {
    const hot::Guard guard(hot::RingRole::kCallback);
    hot::record(guard, wire::RangePop{ts_ns, 1, 0}, ts_ns);
  });
  measure("counter          ", segment, [](std::uint64_t) { hot::count(wire::Counter::kFlushes); });
  return 0;
}
