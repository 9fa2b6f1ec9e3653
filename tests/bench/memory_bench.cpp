// SPDX-License-Identifier: Apache-2.0
//
// What a memory report of PyTorch costs with us between: a fake libc10 whose allocator takes and
// gives back one block, each case in a process of its own.
//
// Context:  tests
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "gpuprof/wire/messages.hpp"
#include "inject/torch/memory/allocations.hpp"
#include "tests/bench/spread.hpp"
#include "tests/fakes/in_process_segment.hpp"
#include "tests/unit/torch/fake_c10.hpp"

namespace gpuprof {
namespace {

constexpr int kPairs = 5'000;  // fewer records than fill the ring buffer
constexpr int kRepetitions = 25;

struct Case {
  const char* what;
  bool under_us, recording, listening;
};

void measure(const Case& one) {
  if (one.under_us) setenv(wire::kSocketVariable, "/nowhere;session=1;pid=1", 1);
  fakes::InProcessSegment segment;
  void* handle = dlopen(FAKE_C10, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return;
  const auto& c10 = *reinterpret_cast<fakes::GetFakeC10>(dlsym(handle, "fake_c10"))();
  c10.listen(one.listening);
  hot::g_state.on.store(one.recording ? hot::kOnAllocations : 0);
  std::vector<double> ns;
  for (int i = 0; i <= kRepetitions; ++i) {
    segment.discard_records();  // empties the ring buffer; the first turn only warms
    const double seconds = test::seconds_of([&] {
      for (std::uint64_t k = 1; k <= kPairs; ++k) {
        c10.cpu_new(k % 64 * 4096, 512);
        c10.cpu_delete(k % 64 * 4096);
      }
    });
    if (i > 0) ns.push_back(seconds * 1e9 / (2 * kPairs));
  }
  test::print_spread(one.what, ns, "ns a report");
}

}  // namespace
}  // namespace gpuprof

int main() {
  const gpuprof::Case cases[] = {
      {"nobody listens, not under us            ", false, false, false},
      {"the program listens, not under us       ", false, false, true},
      {"nobody listens, outside windows         ", true, false, false},
      {"nobody listens, recorded                ", true, true, false},
      {"the program listens, recorded           ", true, true, true},
  };
  for (const auto& one : cases) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      gpuprof::measure(one);
      std::fflush(stdout);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}
