// SPDX-License-Identifier: Apache-2.0
//
// Walks of sleeping threads, of API callbacks, of odd stacks.
#include <gtest/gtest.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <algorithm>
#include <span>

#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/unwind/arch.hpp"
#include "inject/sample/unwind/launch_stack.hpp"
#include "inject/sample/unwind/stack_capture.hpp"
#include "inject/sample/unwind/unwind.hpp"
#include "tests/unit/sample/sampler_fixture.hpp"
#include "tests/unit/sample/strict_filter.hpp"

namespace gpuprof::sample {
namespace {

using wire::Counter;
using wire::SampleState;

std::atomic<std::uint64_t> g_sink;

__attribute__((noinline)) void sleep_inner(int ms) {
  poll(nullptr, 0, ms);
  g_sink.fetch_add(1, std::memory_order_relaxed);
}
__attribute__((noinline)) void sleep_outer(int ms) {
  sleep_inner(ms);
  g_sink.fetch_add(1, std::memory_order_relaxed);
}
template <typename Function>
bool holds(const std::vector<std::uint64_t>& frames, Function* function,
           std::uint64_t bytes = 1500) {
  const auto begin = reinterpret_cast<std::uint64_t>(function);
  return std::any_of(frames.begin(), frames.end(),
                     [&](std::uint64_t pc) { return pc >= begin && pc < begin + bytes; });
}

Settings native_only() {
  Settings settings;
  settings.rate_hz = 100;
  settings.python = false;
  return settings;
}

std::vector<wire::Sample> in_state(std::vector<wire::Sample> samples, SampleState state) {
  std::erase_if(samples, [state](const wire::Sample& sample) {
    return sample.state != static_cast<std::uint32_t>(state);
  });
  return samples;
}

TEST(BlockedThread, IsWalkedWithoutASignal) {
  SamplerFixture sampler;
  sampler.start_sampling(native_only());
  std::atomic<std::uint32_t> tid{0};
  std::atomic<bool> seen{false};
  std::thread sleeper([&] {
    tid = own_tid();
    // Once is enough, but where the first look comes late.
    for (int i = 0; i < 50 && !seen; ++i) sleep_outer(1200);
    seen = true;
  });
  while (!seen) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!in_state(sampler.samples_of(tid), SampleState::kBlockedRepeat).empty()) seen = true;
  }
  sleeper.join();
  sampler.stop_sampling();

  const auto blocked = in_state(sampler.samples_of(tid), SampleState::kBlocked);
  const auto repeats = in_state(sampler.samples_of(tid), SampleState::kBlockedRepeat);

  ASSERT_GE(blocked.size(), 1u);
  ASSERT_GE(repeats.size(), 1u);
  std::uint32_t flags = 0;
  const auto frames = sampler.native_of(blocked.front().stack_id, &flags);
  EXPECT_TRUE(holds(frames, sleep_inner));
  EXPECT_TRUE(holds(frames, sleep_outer));
  EXPECT_NE(flags & wire::kStackFromCopy, 0u);
  EXPECT_EQ(flags & wire::kStackNativeTruncated, 0u);
  for (const wire::Sample& repeat : repeats) EXPECT_EQ(repeat.stack_id, blocked.front().stack_id);
  EXPECT_TRUE(in_state(sampler.samples_of(tid), SampleState::kRunning).empty());
}

struct Slept {
  std::uint64_t ns = 0, weight_ns = 0;
  bool too_much() const { return weight_ns > ns + 150'000'000; }
  bool too_little() const { return weight_ns < ns / 2; }
};

Slept weigh_a_sleep(int ms) {
  SamplerFixture sampler;
  sampler.start_sampling(native_only());
  std::uint32_t tid = 0;
  Slept slept;
  std::thread sleeper([&] {
    tid = own_tid();
    const std::uint64_t begin = base::mono_ns();
    sleep_outer(ms);
    slept.ns = base::mono_ns() - begin;
  });
  sleeper.join();
  sampler.stop_sampling();
  for (const wire::Sample& sample : sampler.samples_of(tid)) slept.weight_ns += sample.weight_ns;
  return slept;
}

TEST(BlockedThread, GetsWeightsThatAddUpToItsSleep) {
  Slept slept;
  // A worker that gets no processor for a second or two does not look in on a short one.
  for (const int ms : {1500, 12'000, 60'000}) {
    slept = weigh_a_sleep(ms);
    if (!slept.too_much() && !slept.too_little()) break;
  }

  EXPECT_FALSE(slept.too_much()) << slept.weight_ns << " ns of " << slept.ns;
  EXPECT_FALSE(slept.too_little()) << slept.weight_ns << " ns of " << slept.ns;
}

TEST(BlockedThread, MayEndDuringTheWalk) {
  SamplerFixture sampler;
  sampler.start_sampling(native_only());

  for (int i = 0; i < 400; ++i) {
    std::thread a([] { sleep_outer(1); });
    std::thread b([] { sleep_outer(3); });
    a.join();
    b.join();
  }
  sampler.stop_sampling();

  EXPECT_EQ(sampler.segment.counter(Counter::kPythonFaults), 0u);
}

std::uint64_t launch_stack(SamplerFixture&) {
  hot::Guard guard(hot::RingRole::kCallback);
  return guard ? capture_launch_stack(guard, 0, base::mono_ns()) : 0;
}
__attribute__((noinline)) std::uint64_t api_call(SamplerFixture& sampler) {
  const std::uint64_t id = launch_stack(sampler);
  g_sink.fetch_add(1, std::memory_order_relaxed);
  return id;
}
__attribute__((noinline)) std::uint64_t caller_of_api(SamplerFixture& sampler) {
  const std::uint64_t id = api_call(sampler);
  g_sink.fetch_add(1, std::memory_order_relaxed);
  return id;
}

TEST(LaunchStack, HoldsTheCallersAndIsDefinedOnce) {
  SamplerFixture sampler;
  sampler.on_worker([] { tick(base::mono_ns()); });  // arms the guard
  ASSERT_TRUE(is_guard_active());

  std::uint64_t ids[3];
  for (int i = 0; i < 3; ++i) {
    asm volatile("" : "+r"(i));  // not unrolled: one call site
    ids[i] = caller_of_api(sampler);
  }

  EXPECT_NE(ids[0], 0u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[1], ids[2]);
  const auto defs = sampler.segment.all<wire::StackDef>();
  EXPECT_EQ(std::count_if(defs.begin(), defs.end(),
                          [&](const auto& def) { return def.body.id == ids[0]; }),
            1);
  std::uint32_t flags = 0;
  const auto frames = sampler.native_of(ids[0], &flags);
  EXPECT_TRUE(holds(frames, api_call));
  EXPECT_TRUE(holds(frames, caller_of_api));
  EXPECT_NE(flags & wire::kStackInCallback, 0u);
  EXPECT_EQ(flags & wire::kStackNativeTruncated, 0u);
  sampler.on_worker([] { stop(); });
  EXPECT_FALSE(is_guard_active());
}

TEST(LaunchStack, IsTakenOnAThreadThatBlocksAllSignals) {
  SamplerFixture sampler;
  sampler.on_worker([] { tick(base::mono_ns()); });
  std::uint64_t id = 0;
  bool still_blocked = false;
  std::thread([&] {
    sigset_t all, now;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    id = caller_of_api(sampler);
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    still_blocked = sigismember(&now, SIGSEGV) == 1 && sigismember(&now, SIGBUS) == 1;
  }).join();

  EXPECT_NE(id, 0u);
  EXPECT_TRUE(still_blocked);
  sampler.on_worker([] { stop(); });
}

__attribute__((noinline)) std::uint64_t recurse(SamplerFixture& sampler, int depth) {
  const std::uint64_t id = depth == 0 ? api_call(sampler) : recurse(sampler, depth - 1);
  g_sink.fetch_add(1, std::memory_order_relaxed);
  return id;
}

TEST(LaunchStack, IsCutAndFlaggedWhenDeep) {
  SamplerFixture sampler;
  sampler.on_worker([] { tick(base::mono_ns()); });

  const std::uint64_t id = recurse(sampler, 400);

  std::uint32_t flags = 0;
  EXPECT_EQ(sampler.native_of(id, &flags).size(), wire::kMaxNativeFrames);
  EXPECT_NE(flags & wire::kStackNativeDeep, 0u);
  sampler.on_worker([] { stop(); });
}

/// Native frames of a call that `code`, which has no tables, makes: of f(call, argument).
std::vector<std::uint64_t> walk_through(SamplerFixture& sampler,
                                        std::span<const unsigned char> code, std::uint32_t* flags) {
  sampler.on_worker([] { tick(base::mono_ns()); });
  void* page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(page, code.data(), code.size());
  using Trampoline = std::uint64_t (*)(std::uint64_t(*)(SamplerFixture&), SamplerFixture&);
  const std::uint64_t id = reinterpret_cast<Trampoline>(page)(api_call, sampler);
  std::vector<std::uint64_t> frames = sampler.native_of(id, flags);
  munmap(page, 4096);
  sampler.on_worker([] { stop(); });
  return frames;
}

TEST(LaunchStack, GoesOnThroughCodeWithoutTablesByItsPrologue) {
  SamplerFixture sampler;
  // As a JIT makes it: push %rbp; xor %ebp,%ebp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; pop
  // %rbp; ret: no tables, no frame pointer.
  constexpr unsigned char kCode[] = {0x55, 0x31, 0xed, 0x48, 0x89, 0xf8, 0x48,
                                     0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};

  std::uint32_t flags = 0;
  const auto frames = walk_through(sampler, kCode, &flags);

  EXPECT_TRUE(holds(frames, api_call));
  EXPECT_TRUE(holds(frames, walk_through));
  EXPECT_EQ(flags & wire::kStackNativeTruncated, 0u);
}

TEST(LaunchStack, EndsAtCodeThatHidesItsCallerAndSaysSo) {
  SamplerFixture sampler;
  // push %rbp; push %r12; mov %rsp,%r12; xor %ebp,%ebp; and $-512,%rsp; sub $512,%rsp;
  // mov %rdi,%rax; mov %rsi,%rdi; call *%rax; mov %r12,%rsp; pop %r12; pop %rbp; ret
  constexpr unsigned char kCode[] = {0x55, 0x41, 0x54, 0x49, 0x89, 0xe4, 0x31, 0xed, 0x48, 0x81,
                                     0xe4, 0x00, 0xfe, 0xff, 0xff, 0x48, 0x81, 0xec, 0x00, 0x02,
                                     0x00, 0x00, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0,
                                     0x4c, 0x89, 0xe4, 0x41, 0x5c, 0x5d, 0xc3};

  std::uint32_t flags = 0;
  const auto frames = walk_through(sampler, kCode, &flags);

  EXPECT_TRUE(holds(frames, api_call));
  EXPECT_NE(flags & wire::kStackNativeTruncated, 0u);
}

TEST(Fork, LeavesTheChildWithoutSamplerAndTheParentWithOne) {
  static struct sigaction at_first;  // a sanitizer has its own handler there
  sigaction(SIGSEGV, nullptr, &at_first);
  SamplerFixture sampler;
  sampler.start_sampling(native_only());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));

  before_fork();
  const pid_t child = fork();
  if (child == 0) {
    hot::g_state.owner_page.store(nullptr);
    hot::g_state.stats = nullptr;
    hot::reset_threads_after_fork();
    after_fork_child();
    int perf_descriptors = 0;
    for (int fd = 3; fd < 4096; ++fd) {
      char path[64], target[64] = "";
      std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
      if (readlink(path, target, sizeof target - 1) > 0)
        perf_descriptors += std::strstr(target, "perf_event") != nullptr;
    }
    struct sigaction now;
    sigaction(SIGSEGV, nullptr, &now);
    _exit((perf_descriptors == 0 ? 0 : 1) + (now.sa_handler == at_first.sa_handler ? 0 : 2));
  }
  after_fork_parent();
  int status = -1;
  waitpid(child, &status, 0);
  const std::uint64_t before = sampler.segment.counter(Counter::kSamplesTaken);
  const double end = own_cpu_s() + 0.3;
  // Longer on a busy machine: the worker must get a turn first.
  while (own_cpu_s() < end ||
         (sampler.segment.counter(Counter::kSamplesTaken) == before && own_cpu_s() < end + 5))
    g_sink.fetch_add(1, std::memory_order_relaxed);
  sampler.stop_sampling();

  EXPECT_EQ(status, 0);
#ifndef __SANITIZE_THREAD__  // which holds signals back while a thread only computes
  EXPECT_GT(sampler.segment.counter(Counter::kSamplesTaken), before);
#endif
  EXPECT_GE(sampler.segment.counter(Counter::kSamplesTaken), before);
}

// ---- under a filter of the program's ----

// Nothing is known of its frames yet: each is looked up.
__attribute__((noinline)) std::uint32_t frames_in_a_handler() {
  const hot::Guard guard(hot::RingRole::kSignal);
  if (!guard) return 0;
  ucontext_t context;
  getcontext(&context);
  StackRequest request;
  registers_of(&context, &request.start);
  request.interrupted = true;
  request.parts = StackParts{true, false};
  unwind_invalidate();
  if (!install_exit_only_filter()) return 0;
  const std::uint64_t id = capture_stack(guard, request, 1);
  return id == 0 ? 0 : 1;
}

TEST(UnderAFilter, AWalkInOurHandlerMakesNoSystemCall) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer makes calls of its own";
#endif
  SamplerFixture sampler;
  ASSERT_TRUE(sampler.start_sampling(native_only()));
  const pid_t child = fork();
  if (child == 0) _exit(frames_in_a_handler() != 0 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace gpuprof::sample
