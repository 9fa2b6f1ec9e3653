// SPDX-License-Identifier: Apache-2.0
//
// The sampler on real threads of this process.
#include "inject/sample/sampler.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/personality.h>

#include <algorithm>

#include "inject/sample/signals/kernel_sigaction.hpp"
#include "inject/sample/triggers/trigger.hpp"
#include "tests/unit/sample/sampler_fixture.hpp"

namespace gpuprof::sample {
namespace {

using wire::Counter;

thread_local volatile std::uint64_t g_sink;

// Known functions, found again by address. The add after each call keeps it from being a jump.
__attribute__((noinline)) void spin_leaf(double cpu_s) {
  const double end = own_cpu_s() + cpu_s;
  while (own_cpu_s() < end)
    for (int i = 0; i < 20000; ++i) g_sink = g_sink * 3 + 1;
}
__attribute__((noinline)) void spin_middle(double cpu_s) {
  spin_leaf(cpu_s);
  g_sink = g_sink + 1;
}
__attribute__((noinline)) void spin_outer(double cpu_s) {
  spin_middle(cpu_s);
  g_sink = g_sink + 1;
}

bool inside(std::uint64_t pc, void (*function)(double)) {
  const auto begin = reinterpret_cast<std::uint64_t>(function);
  return pc >= begin && pc < begin + 1500;
}

bool has_chain(const std::vector<std::uint64_t>& frames) {
  for (std::size_t i = 0; i + 2 < frames.size(); ++i)
    if (inside(frames[i], spin_leaf) && inside(frames[i + 1], spin_middle) &&
        inside(frames[i + 2], spin_outer))
      return true;
  return false;
}

Settings native_at(std::uint32_t rate_hz, wire::SamplerKind kind) {
  Settings settings;
  settings.kind = kind;
  settings.rate_hz = rate_hz;
  settings.python = false;
  return settings;
}

// Of a thread's CPU time, where what it waits for does not come: a busy machine gives the worker no
// processor for seconds.
constexpr double kMax = 20;

template <typename Done>
void spin_until(Done done) {
  while (!done() && own_cpu_s() < kMax) spin_outer(0.1);
}

class Sampler : public ::testing::TestWithParam<wire::SamplerKind> {
 protected:
  // False: nothing to test here.
  bool begin(std::uint32_t rate_hz) {
#ifdef __SANITIZE_THREAD__
    return false;  // it delivers signals later, with the registers of another moment
#endif
    return sampler.start_sampling(native_at(rate_hz, GetParam()));
  }
  std::vector<wire::Sample> running_of(std::uint32_t tid) {
    auto samples = sampler.samples_of(tid);
    std::erase_if(samples, [](const wire::Sample& sample) {
      return sample.state != static_cast<std::uint32_t>(wire::SampleState::kRunning);
    });
    return samples;
  }
  SamplerFixture sampler;
};

TEST_P(Sampler, FindsTheFunctionsOfABusyThread) {
  if (!begin(200)) GTEST_SKIP() << "this trigger is not allowed here";

  // A loaded machine delays the scan, and CPU timers miss ticks there: go on until there are
  // enough.
  std::uint32_t tid = 0;
  std::thread busy([&] {
    tid = own_tid();
    const auto enough = [&] { return sampler.segment.counter(Counter::kSamplesTaken) >= 120; };
    while (!enough() && own_cpu_s() < kMax) spin_outer(0.05);
  });
  busy.join();
  sampler.stop_sampling();

  const auto samples = running_of(tid);
  ASSERT_GE(samples.size(), 60u);
  int whole = 0, complete = 0;
  for (const wire::Sample& sample : samples) {
    std::uint32_t flags = 0;
    const auto frames = sampler.native_of(sample.stack_id, &flags);
    whole += has_chain(frames);
    complete += (flags & wire::kStackNativeTruncated) == 0;
  }
  EXPECT_GE(whole, static_cast<int>(samples.size() * 95 / 100));
  EXPECT_GE(complete, static_cast<int>(samples.size() * 95 / 100));
}

TEST_P(Sampler, GivesSamplesTheCpuTimeTheyStandFor) {
  if (!begin(100)) GTEST_SKIP() << "this trigger is not allowed here";

  std::uint32_t tid = 0;
  std::uint64_t from_ns = 0;
  double whole_s = 0;
  std::thread busy([&] {
    tid = own_tid();
    while (running_of(tid).empty() && own_cpu_s() < kMax) spin_outer(0.01);
    from_ns = base::mono_ns();
    spin_outer(2.0);
    whole_s = own_cpu_s();
  });
  busy.join();
  sampler.stop_sampling();

  // What ran before the scan saw the thread and after its last sample is not in any weight.
  std::uint64_t weight_ns = 0, later_ns = 0;
  for (const wire::Sample& sample : running_of(tid)) {
    weight_ns += sample.weight_ns;
    if (sample.ts_ns >= from_ns) later_ns += sample.weight_ns;
  }
  EXPECT_LE(static_cast<double>(weight_ns) * 1e-9, whole_s + 0.02);
  EXPECT_GE(static_cast<double>(later_ns) * 1e-9, 1.6);
}

TEST_P(Sampler, SendsNoSignalOnceStopped) {
  if (!begin(1000)) GTEST_SKIP() << "this trigger is not allowed here";
  spin_outer(0.1);
  spin_until([&] { return sampler.segment.counter(Counter::kSamplesTaken) > 0; });
  sampler.stop_sampling();
  const std::uint64_t taken = sampler.segment.counter(Counter::kSamplesTaken);
  const std::uint64_t late = sampler.segment.counter(Counter::kSamplesWhileOff);
  ASSERT_GT(taken, 0u);

  spin_outer(0.3);

  EXPECT_EQ(sampler.segment.counter(Counter::kSamplesTaken), taken);
  EXPECT_EQ(sampler.segment.counter(Counter::kSamplesWhileOff), late);
}

TEST_P(Sampler, LeavesOutThreadsThatBlockItsSignal) {
  if (!begin(500)) GTEST_SKIP() << "this trigger is not allowed here";

  std::uint32_t tid = 0;
  int waited_signal = 0;
  std::thread masked([&] {
    tid = own_tid();
    sigset_t all, pending;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    spin_outer(0.3);
    spin_until([&] { return sampler.segment.counter(Counter::kThreadsBlockingSignal) > 0; });
    sigpending(&pending);
    waited_signal = sigismember(&pending, signal_number());
  });
  masked.join();
  sampler.stop_sampling();

  EXPECT_EQ(waited_signal, 0);
  for (const wire::Sample& sample : sampler.samples_of(tid))
    EXPECT_NE(sample.state, static_cast<std::uint32_t>(wire::SampleState::kRunning));
  EXPECT_GE(sampler.segment.counter(Counter::kThreadsBlockingSignal), 1u);
}

TEST_P(Sampler, QueuesFewSignalsOnAThreadThatMasksThemLater) {
  if (!begin(1000)) GTEST_SKIP() << "this trigger is not allowed here";

  std::atomic<int> queued{-1};
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    spin_outer(0.05);  // its trigger works
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    spin_outer(1.5);  // the list notices within a second
    spin_until([] {
      sigset_t pending;
      sigpending(&pending);
      return sigismember(&pending, signal_number()) == 0;
    });
    int count = 0;
    const timespec now{0, 0};
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, signal_number());
    while (sigtimedwait(&ours, nullptr, &now) > 0) ++count;
    queued = count;
  });
  later.join();
  sampler.stop_sampling();

  EXPECT_EQ(queued, 0);
}

// Of a timer one. A perf event goes on, and what it does is counted.
TEST_P(Sampler, CutsOneWaitOfAThreadShortThoughTheWorkerIsStarved) {
  if (!begin(1000)) GTEST_SKIP() << "this trigger is not allowed here";

  int cut = 0;
  std::thread waiting([&] {
    spin_until([&] { return !running_of(own_tid()).empty(); });
    sampler.starve_worker();
    sigset_t all, others, pending;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    others = all;
    sigdelset(&others, signal_number());
    const timespec soon{0, 1'000'000};
    for (int i = 0; i < 10; ++i) {
      spin_outer(0.03);
      sigpending(&pending);
      const bool waits = sigismember(&pending, signal_number()) == 1;
      EXPECT_EQ(::ppoll(nullptr, 0, &soon, &others) < 0, waits);
      cut += waits ? 1 : 0;
    }
  });
  waiting.join();
  sampler.stop_sampling();

  EXPECT_GE(cut, 1);
  EXPECT_LE(cut, GetParam() == wire::SamplerKind::kPerf ? 10 : 1);
  EXPECT_EQ(sampler.segment.counter(Counter::kWaitsInterruptedAgain) + 1,
            static_cast<unsigned>(cut));
}

TEST_P(Sampler, SkipsThreadsOnTheirAlternateStack) {
  if (!begin(1000)) GTEST_SKIP() << "this trigger is not allowed here";

  static SamplerFixture* s_sampler;
  s_sampler = &sampler;
  std::thread other([&] {
    std::vector<char> memory(256 << 10);
    stack_t alternate{};
    alternate.ss_sp = memory.data();
    alternate.ss_size = memory.size();
    sigaltstack(&alternate, nullptr);
    struct sigaction action {};
    action.sa_handler = [](int) {
      sigset_t none;  // ours is held back in such a handler
      sigemptyset(&none);
      pthread_sigmask(SIG_SETMASK, &none, nullptr);
      spin_outer(0.3);
      spin_until([] { return s_sampler->segment.counter(Counter::kSamplesNoStackRoom) >= 5; });
    };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    pthread_kill(pthread_self(), SIGUSR2);
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  });
  other.join();
  sampler.stop_sampling();

  EXPECT_GE(sampler.segment.counter(Counter::kSamplesNoStackRoom), 5u);
}

TEST_P(Sampler, HoldsItsSignalBackInHandlersOnAlternateStacks) {
  static volatile sig_atomic_t met;
  met = 0;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    met = sigismember(&now, signal_number()) == 1 ? 2 : 1;
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, &before);
  if (!begin(1000)) GTEST_SKIP() << "this trigger is not allowed here";

  raise(SIGUSR2);
  EXPECT_EQ(met, 2);
  sampler.stop_sampling();
  sampler.on_worker([] { release(); });
  KernelAction now{};
  kernel_sigaction(SIGUSR2, nullptr, &now);
  EXPECT_EQ(now.mask, 0u) << "it is as the program set it";
  sigaction(SIGUSR2, &before, nullptr);
}

TEST_P(Sampler, SurvivesASmallThreadStack) {
  if (!begin(1000)) GTEST_SKIP() << "this trigger is not allowed here";

  static std::atomic<std::uint32_t> tid;
  static std::atomic<bool> enough, ended;
  tid = 0;
  enough = ended = false;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  ASSERT_EQ(pthread_attr_setstacksize(&attr, 32 << 10), 0);
  pthread_t small;
  ASSERT_EQ(pthread_create(
                &small, &attr,
                [](void*) -> void* {
                  tid = own_tid();
                  timespec pause{0, 60'000'000};
                  nanosleep(&pause, nullptr);
                  spin_outer(0.3);
                  spin_until([] { return enough.load(); });
                  ended = true;
                  return nullptr;
                },
                nullptr),
            0);
  // By this thread: to look takes more stack than that one has.
  while (!ended && sampler.samples_of(tid).size() < 5)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  enough = true;
  pthread_join(small, nullptr);
  sampler.stop_sampling();

  EXPECT_GE(sampler.samples_of(tid).size(), 5u);
}

TEST_P(Sampler, MovesToAnotherSignalWhenTheProgramTakesItsOwn) {
  if (!begin(500)) GTEST_SKIP() << "this trigger is not allowed here";
  const int first = signal_number();
  static std::atomic<int> strays;
  strays = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { ++strays; };

  sigaction(first, &action, nullptr);
  // The worker looks fifty times a second; on a busy machine it may get no processor for seconds.
  for (int i = 0; i < 500 && signal_number() == first; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  const int second = signal_number();
  const std::uint64_t before = sampler.segment.counter(Counter::kSamplesTaken);
  strays = 0;
  for (int i = 0; i < 100 && sampler.segment.counter(Counter::kSamplesTaken) <= before + 5; ++i)
    spin_outer(0.2);
  sampler.stop_sampling();
  signal(first, SIG_DFL);

  EXPECT_NE(second, first);
  EXPECT_EQ(strays, 0);
  EXPECT_GT(sampler.segment.counter(Counter::kSamplesTaken), before + 5);
}

TEST(CpuTimer, IsNotUsedWhereItWouldEndWaitingCalls) {
  const int before = personality(0xffffffff);
  ASSERT_NE(-1, personality(static_cast<unsigned long>(before) | UNAME26));
  TriggerPlan plan{};
  plan.signal = SIGRTMAX - 2;
  char why[160] = "";
  EXPECT_FALSE(kCpuTimerTrigger.probe(plan, why, sizeof why));
  EXPECT_NE(nullptr, strstr(why, "it interrupts blocking system calls")) << why;
  personality(static_cast<unsigned long>(before));
  EXPECT_TRUE(kCpuTimerTrigger.probe(plan, why, sizeof why)) << why;
}

INSTANTIATE_TEST_SUITE_P(EachTrigger, Sampler,
                         ::testing::Values(wire::SamplerKind::kPerf, wire::SamplerKind::kCpuTimer),
                         [](const auto& kind) {
                           return kind.param == wire::SamplerKind::kPerf ? "perf" : "cpu_timer";
                         });

}  // namespace
}  // namespace gpuprof::sample
