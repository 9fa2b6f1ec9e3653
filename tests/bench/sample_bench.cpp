// SPDX-License-Identifier: Apache-2.0
//
// What one stack costs: at an API callback by depth, in the signal handler from entry to return,
// and how much of the interrupted thread's stack a sample takes.
//
// Context:  tests
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/signals/handler_state.hpp"
#include "inject/sample/unwind/launch_stack.hpp"
#include "tests/fakes/at_depth.hpp"
#include "tests/unit/sample/sampler_fixture.hpp"

namespace gpuprof::sample {
namespace {

volatile std::uint64_t g_sink;

template <typename Body>
std::vector<std::uint64_t> times_of(int turns, Body&& body) {
  std::vector<std::uint64_t> ns(static_cast<std::size_t>(turns));
  for (std::uint64_t& each : ns) {
    const std::uint64_t begin = base::mono_ns();
    body();
    each = base::mono_ns() - begin;
  }
  std::sort(ns.begin(), ns.end());
  return ns;
}

void print(const char* what, int depth, const std::vector<std::uint64_t>& ns) {
  std::printf("%-14s depth %3d: p50 %6lu ns  p99 %6lu ns\n", what, depth, ns[ns.size() / 2],
              ns[ns.size() * 99 / 100]);
}

using fakes::at_depth;

void launch_stacks(int depth) {
  auto body = [depth] {
    print("launch stack", depth, times_of(20000, [] {
            hot::Guard guard(hot::RingRole::kCallback);
            if (guard) g_sink = capture_launch_stack(guard, 0, base::mono_ns());
          }));
  };
  at_depth(depth, body);
}

// The handler called by a real signal of ours: rt_tgsigqueueinfo to itself, with the cookie.
void signals(int depth) {
  auto body = [depth] {
    siginfo_t info{};
    info.si_signo = signal_number();
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_value.sival_ptr = signal_cookie(static_cast<pid_t>(own_tid()));
    print("signal", depth, times_of(20000, [&] {
            ::syscall(SYS_rt_tgsigqueueinfo, getpid(), own_tid(), signal_number(), &info);
          }));
  };
  at_depth(depth, body);
}

// Paints the stack below, takes a sample, looks how far down the paint is gone.
__attribute__((noinline)) std::size_t stack_taken() {
  constexpr std::size_t kBytes = 48 << 10;
  constexpr unsigned char kPaint = 0xa5;
  volatile auto* low = static_cast<unsigned char*>(__builtin_frame_address(0)) - kBytes;
  for (std::size_t i = 0; i < kBytes - 2048; ++i) low[i] = kPaint;
  siginfo_t info{};
  info.si_signo = signal_number();
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_value.sival_ptr = signal_cookie(static_cast<pid_t>(own_tid()));
  ::syscall(SYS_rt_tgsigqueueinfo, getpid(), own_tid(), signal_number(), &info);
  std::size_t untouched = 0;
  while (untouched < kBytes && low[untouched] == kPaint) ++untouched;
  return kBytes - untouched;
}

}  // namespace
}  // namespace gpuprof::sample

int main() {
  using namespace gpuprof;
  using namespace gpuprof::sample;
  SamplerFixture sampler;
  Settings settings;
  settings.kind = wire::SamplerKind::kTgkill;
  settings.rate_hz = 1;  // only the signals sent here
  settings.python = false;
  settings.blocked_threads = false;
  sampler.start_sampling(settings);
  for (const int depth : {10, 20, 60}) launch_stacks(depth);
  for (const int depth : {10, 20, 60}) signals(depth);
  std::printf("stack taken of the interrupted thread: %zu bytes, kernel's frame included\n",
              stack_taken());
  std::printf("AT_MINSIGSTKSZ %lu\n", getauxval(AT_MINSIGSTKSZ));
  std::printf("samples taken %lu\n", sampler.segment.counter(wire::Counter::kSamplesTaken));
  return 0;
}
