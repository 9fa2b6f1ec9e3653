// SPDX-License-Identifier: Apache-2.0
//
// Threads that the sampling signal would harm: those that block it, are traced, or came under a
// filter.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "tests/unit/sample/sampler_fixture.hpp"

namespace gpuprof::sample {
namespace {

using wire::SamplerKind;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kPlain = false;  // sanitizers make calls of their own and delay signals
#else
constexpr bool kPlain = true;
#endif

// By the clock that needs no system call.
void spin(double wall_s) {
  const std::uint64_t end = base::mono_ns() + static_cast<std::uint64_t>(wall_s * 1e9);
  volatile std::uint64_t sink = 1;
  while (base::mono_ns() < end)
    for (int i = 0; i < 20000; ++i) sink = sink * 3 + 1;
}

// Works until `done`, at most for a minute: a busy machine gives the worker no processor for
// seconds.
template <typename Done>
void spin_until(Done done) {
  for (int i = 0; i < 600 && !done(); ++i) spin(0.1);
}

void block_all() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

class LeftOut : public ::testing::TestWithParam<SamplerKind> {
 protected:
  bool begin() {
    Settings settings;
    settings.kind = GetParam();
    settings.rate_hz = 1000;
    settings.python = false;
    return kPlain && sampler.start_sampling(settings);
  }
  // Samples of it while it ran, from `from_ns` on.
  long running_of(std::uint32_t tid, std::uint64_t from_ns) {
    const auto samples = sampler.samples_of(tid);
    return std::count_if(samples.begin(), samples.end(), [&](const wire::Sample& sample) {
      return sample.ts_ns >= from_ns &&
             sample.state == static_cast<std::uint32_t>(wire::SampleState::kRunning);
    });
  }
  SamplerFixture sampler;
};

// How many of 12 waits with no signal blocked came back early.
int waits_cut_short() {
  sigset_t none;
  sigemptyset(&none);
  int cut = 0;
  for (int i = 0; i < 12; ++i) {
    spin(0.08);  // the fixture's worker comes every 40 ms
    const timespec wait{0, 60'000'000};
    // Again at once, as a program does: each period may have queued a signal.
    for (int early = 0; early < 2 && ppoll(nullptr, 0, &wait, &none) < 0; ++early) ++cut;
  }
  return cut;
}

// The same, of a thread of its own that `body` is run by. A worker that gets no processor hears of
// the first one too late: then another thread is asked.
template <typename Body>
int cut_of_threads(Body body) {
  int cut = -1;
  for (int i = 0; i < 5 && (i == 0 || cut > 1); ++i) std::thread([&] { cut = body(); }).join();
  return cut;
}

TEST_P(LeftOut, AThreadThatUnblocksSignalsOnlyToWaitIsCutShortOnceAtMost) {
  if (!begin()) GTEST_SKIP() << "not allowed here, or a sanitizer";

  const int cut = cut_of_threads([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    spin(0.1);  // it has a trigger
    block_all();
    return waits_cut_short();
  });

  EXPECT_GE(cut, 0);
  EXPECT_LE(cut, 1);
}

TEST_P(LeftOut, AThreadThatAskedForASecondSpellIsStillLeftOut) {
  if (!begin()) GTEST_SKIP() << "not allowed here, or a sanitizer";

  const int cut = cut_of_threads([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    block_all();
    const int before = waits_cut_short();
    // The list of threads begins anew.
    struct sigaction action {};
    action.sa_handler = [](int) {};
    const int taken = signal_number();
    sigaction(taken, &action, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    for (int i = 0; i < 1500 && signal_number() == taken; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
    const int after = waits_cut_short();
    ::signal(taken, SIG_DFL);
    return before + after;
  });

  EXPECT_GE(cut, 0);
  EXPECT_LE(cut, 1);
}

// Blocks `set`, is sent the sampling signal, works, and takes what waits; with `until_moved` until
// the worker has seen one wait. How many of those that were sent are missing.
long own_signals_missing(const sigset_t& set, int ours, bool until_moved) {
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  constexpr int kSent = 5, kMax = 600;
  long missing = 0;
  for (int i = 0; i < kSent || (i < kMax && until_moved && signal_number() == ours); ++i) {
    kill(getpid(), ours);
    ++missing;
    spin(0.1);
    const timespec none{0, 0};
    siginfo_t info;
    while (sigtimedwait(&set, &info, &none) > 0) missing -= info.si_code == SI_USER;
  }
  return missing;
}

// No thread takes a signal that was sent to the process: also none of the fixture's.
void leaves_its_own_to(SamplerKind kind, bool named) {
  SamplerFixture sampler;
  Settings settings;
  settings.kind = kind;
  settings.rate_hz = 1000;
  settings.python = false;
  if (!kPlain || !sampler.start_sampling(settings)) GTEST_SKIP() << "not allowed here";
  const int ours = signal_number();
  sigset_t set;
  named ? sigemptyset(&set) : sigfillset(&set);
  sigaddset(&set, ours);
  long missing = 0;
  std::thread([&] {
    pthread_sigmask(SIG_SETMASK, &set, nullptr);
    missing = own_signals_missing(set, ours, named);
  }).join();
  EXPECT_EQ(missing, 0);
  EXPECT_TRUE(!named || signal_number() != ours);
  sampler.stop_sampling();
  sampler.on_worker([] { release(); });
}

TEST(LeftOutSignals, OnesThatTheProgramTakesWithoutAHandlerAreItsOwn) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for (const SamplerKind kind : {SamplerKind::kPerf, SamplerKind::kCpuTimer})
    for (const bool named : {true, false}) leaves_its_own_to(kind, named);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_P(LeftOut, AThreadThatUnblocksItForGoodIsSampledAgain) {
  if (!begin()) GTEST_SKIP() << "not allowed here, or a sanitizer";

  std::uint32_t tid = 0;
  std::uint64_t from_ns = 0;
  std::thread later([&] {
    tid = own_tid();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    spin(0.4);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    from_ns = base::mono_ns();
    spin(2.5);
    spin_until([&] { return running_of(tid, from_ns) > 0; });
  });
  later.join();
  sampler.stop_sampling();

  EXPECT_GT(running_of(tid, from_ns), 0);
}

// Everything else is allowed; of this thread only.
bool filter_out(std::uint32_t first, std::uint32_t second) {
  sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{sizeof steps / sizeof *steps, steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_P(LeftOut, AThreadUnderAFilterOfItsOwn) {
  if (!begin()) GTEST_SKIP() << "not allowed here, or a sanitizer";
  static std::atomic<int> output;
  output = 0;
  hot::g_outbox.send_notice = [](wire::Feature, wire::NoticeLevel, std::uint32_t,
                                 const char* text) {
    output += std::strstr(text, "filter may end them") != nullptr;
  };

  std::uint32_t tid = 0;
  std::uint64_t until_ns = 0;
  bool filtered = false;
  // A perf event's signal needs the thread's CPU time, a timer's needs no call at all.
  const std::uint32_t other = GetParam() == SamplerKind::kPerf ? SYS_gettid : SYS_clock_gettime;
  std::thread sandboxed([&] {
    tid = own_tid();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it gets a trigger
    filtered = filter_out(SYS_gettid, other);
    spin(1.2);
    spin_until([] { return output > 0; });
    until_ns = base::mono_ns();
    spin(0.8);
  });
  sandboxed.join();
  sampler.stop_sampling();
  hot::g_outbox.send_notice = nullptr;

  if (!filtered) GTEST_SKIP() << "no filters here";
  EXPECT_EQ(running_of(tid, until_ns), 0);
  EXPECT_EQ(output, 1);
}

// Traces every thread of the parent for a while; returns how often the sampling signal stopped one.
[[noreturn]] void trace_parent(pid_t parent, int signal, int report) {
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task"))
    if (ptrace(PTRACE_SEIZE, std::atoi(task.path().filename().c_str()), nullptr, nullptr) != 0)
      _exit(1);
  int stops = 0;
  const std::uint64_t end = base::mono_ns() + 1'200'000'000;
  while (base::mono_ns() < end) {
    int status = 0;
    const pid_t stopped = waitpid(-1, &status, __WALL | WNOHANG);
    if (stopped <= 0) {
      usleep(1000);
      continue;
    }
    if (!WIFSTOPPED(status)) continue;
    stops += WSTOPSIG(status) == signal;
    ptrace(PTRACE_CONT, stopped, nullptr, WSTOPSIG(status));
  }
  const auto told = ::write(report, &stops, sizeof stops);
  _exit(told == sizeof stops ? 0 : 1);  // its threads go on untraced
}

// How often the sampling signal stops this process, which is traced for a while; -1: not allowed
// here.
int stops_under_a_tracer() {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t parent = getpid();
  const int signal = signal_number();
  const pid_t tracer = fork();
  if (tracer == 0) {
    after_fork_child();  // an open descriptor keeps an event alive that the parent has closed
    trace_parent(parent, signal, ends[1]);
  }
  close(ends[1]);
  spin(1.6);
  int stops = 0, status = 0;
  const bool told = ::read(ends[0], &stops, sizeof stops) == sizeof stops;
  close(ends[0]);
  waitpid(tracer, &status, 0);
  return told ? stops : -1;
}

TEST_P(LeftOut, AProcessUnderADebugger) {
  if (!begin()) GTEST_SKIP() << "not allowed here, or a sanitizer";
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  spin(0.2);
  int stops = 0;
  std::uint64_t gone_ns = 0;
  // The next scan of a worker that gets no processor comes late: then it is tried again.
  for (int i = 0; i < 4 && (i == 0 || stops > 60); ++i) {
    stops = stops_under_a_tracer();
    gone_ns = base::mono_ns() + 100'000'000;
    spin(0.5);
    spin_until([&] { return stops < 0 || running_of(own_tid(), gone_ns) > 0; });
  }
  sampler.stop_sampling();

  if (stops < 0) GTEST_SKIP() << "tracing is not allowed here";
  EXPECT_LE(stops, 60) << "more than until the next scan";
  EXPECT_GT(running_of(own_tid(), gone_ns), 0);
}

INSTANTIATE_TEST_SUITE_P(EachTrigger, LeftOut,
                         ::testing::Values(SamplerKind::kPerf, SamplerKind::kCpuTimer),
                         [](const auto& kind) {
                           return kind.param == SamplerKind::kPerf ? "perf" : "cpu_timer";
                         });

}  // namespace
}  // namespace gpuprof::sample
