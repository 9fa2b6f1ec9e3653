// SPDX-License-Identifier: Apache-2.0
//
// What a sample's Python stack costs: with the texts of its code objects read for every frame, and
// with their ids remembered; by plain loads and by the system calls that a blocked thread takes.
//
// Context:  tests
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "gpuprof/base/clock.hpp"
#include "inject/python/frames/frame_walk.hpp"
#include "tests/fakes/in_process_segment.hpp"
#include "tests/unit/python/fake_interpreter.hpp"

namespace gpuprof::python {
namespace {

constexpr int kDepth = 20;

/// As remote_frames.cpp reads another thread's frames.
struct ByCalls {
  static constexpr bool kOwn = false;
  const std::byte* view(std::uint64_t at, std::uint32_t bytes, std::byte* room) const {
    const iovec local{room, bytes}, remote{reinterpret_cast<void*>(at), bytes};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return got == static_cast<ssize_t>(bytes) ? room : nullptr;
  }
  const std::byte* keep(std::uint64_t at, std::uint32_t) const {
    return reinterpret_cast<const std::byte*>(at);
  }
  void clear() const {}
};

/// Plain loads, and nothing but the texts tells code objects without a number apart.
struct Anew : LocalMemory {
  static constexpr bool kOwn = false;
};

/// What other work leaves of the caches.
class Elsewhere {
 public:
  void work() {
    for (std::size_t i = 0; i < bytes_.size(); i += 64) ++bytes_[i];
  }

 private:
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(64 << 20);
};

std::uint64_t stack(tests::FakeInterpreter& python, bool numbered) {
  std::uint64_t top = python.runtime.offsets.minor >= 12 ? python.shim(0) : 0;
  for (int i = 0; i < kDepth; ++i) {
    const std::uint64_t file = python.ascii("/srv/venv/lib/python3/site-packages/torch/nn/mod.py");
    const std::uint64_t name = python.ascii("Module._call_impl.<locals>.inner" + std::to_string(i));
    const std::uint64_t code = python.code(file, name, i, std::string(300, '\x01'));
    if (!numbered) python.put(code, python.runtime.offsets.code_version, 0);
    top = python.frame(code, top);
    if (i == 0) python.set_entry(top);
  }
  return python.state(top);
}

template <typename Memory, typename Between>
std::uint64_t median_ns(tests::FakeInterpreter& python, bool numbered, int turns, Between between) {
  fakes::InProcessSegment segment(2, 2);
  const std::uint64_t state = stack(python, numbered);
  wire::PyFrame frames[wire::kMaxPythonFrames];
  std::vector<std::uint64_t> ns;
  for (int i = 0; i < turns; ++i) {
    between();
    const hot::Guard guard(hot::RingRole::kSignal);
    Memory memory;
    const std::uint64_t begin = base::mono_ns();
    FrameWalk<Memory>(memory, python.runtime, guard, 1).run(state, frames, wire::kMaxPythonFrames);
    ns.push_back(base::mono_ns() - begin);
    if (i % 64 == 0) segment.discard_records();
  }
  std::nth_element(ns.begin(), ns.begin() + turns / 2, ns.end());
  return ns[static_cast<std::size_t>(turns / 2)];
}

void print(const char* how, std::uint32_t minor, std::uint64_t anew, std::uint64_t remembered) {
  std::printf("%-26s 3.%-2u depth %d: texts read %6lu ns, remembered %6lu ns, ratio %.2f\n", how,
              minor, kDepth, anew, remembered,
              static_cast<double>(anew) / static_cast<double>(remembered));
}

void measure(std::uint32_t minor, Elsewhere& elsewhere) {
  tests::FakeInterpreter python(minor);
  const auto at_once = [] {};
  const auto after_work = [&elsewhere] { elsewhere.work(); };
  print("plain loads", minor, median_ns<Anew>(python, false, 20000, at_once),
        median_ns<LocalMemory>(python, true, 20000, at_once));
  print("plain loads, caches cold", minor, median_ns<Anew>(python, false, 200, after_work),
        median_ns<LocalMemory>(python, true, 200, after_work));
  print("system calls", minor, median_ns<ByCalls>(python, false, 2000, at_once),
        median_ns<ByCalls>(python, true, 2000, at_once));
}

}  // namespace
}  // namespace gpuprof::python

int main() {
  gpuprof::python::Elsewhere elsewhere;
  for (const std::uint32_t minor : {11u, 12u, 13u}) gpuprof::python::measure(minor, elsewhere);
  return 0;
}
