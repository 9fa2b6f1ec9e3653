// SPDX-License-Identifier: Apache-2.0
//
// One session after the other: what is left between them is nothing.
#include <dirent.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/hot/segment_lifetime.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/sample/signals/handler.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"
#include "inject/sample/unwind/launch_stack.hpp"
#include "tests/fakes/daemon_segment.hpp"

namespace gpuprof::sample {
namespace {

using std::chrono::milliseconds;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;  // maps and memory are mostly the sanitizer's own
#else
constexpr bool kSanitized = false;
#endif

// Under ThreadSanitizer what is in force is its handler, not ours: the sampler believes that the
// program has taken its signal, moves on to the next one each time and puts nothing back. Nor does
// our guard catch the faults of walks through its own functions: there are records, but no stacks.
#ifdef __SANITIZE_THREAD__
constexpr bool kOwnHandlers = false;
void put_back_handlers() {
  // To ignore one is also to forget those that wait.
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
    ::signal(signal, SIG_IGN), ::signal(signal, SIG_DFL);
}
#else
constexpr bool kOwnHandlers = true;
void put_back_handlers() {}
#endif

int open_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

long resident_bytes() {
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

// Every signal's disposition, as the kernel has it.
std::vector<KernelAction> dispositions() {
  std::vector<KernelAction> all(65);
  for (int signal = 1; signal <= 64; ++signal) kernel_sigaction(signal, nullptr, &all[signal]);
  return all;
}

// Runs body as the agent's worker runs: on a thread of its own that takes no signal.
void as_worker(const std::function<void()>& body) {
  std::thread([&body] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    hot::g_state.worker_tid.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    body();
  }).join();
}

void begin_session(fakes::DaemonSegment& segment, wire::SamplerKind kind) {
  ASSERT_TRUE(segment.publish());
  prepare();
  hot::g_state.on.store(kOwnHandlers ? hot::kOnSamples | hot::kOnLaunchStacks : 0);
  Settings settings;
  settings.kind = kind;
  settings.rate_hz = 1000;
  ASSERT_TRUE(start(settings));
}

void end_session() {
  hot::g_state.on.store(0);
  stop();
  EXPECT_EQ(hot::unpublish_segment(20'000), hot::UnpublishResult::kUnmapped);
  EXPECT_TRUE(release());
  put_back_handlers();
}

// Threads that use the processor, record and take stacks, with a session or without one.
class Program {
 public:
  explicit Program(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Program() {
    go_on_ = false;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void run() {
    for (std::uint64_t i = 0; go_on_; ++i) {
      const hot::Guard guard(hot::RingRole::kCallback);
      if (!guard) continue;
      hot::record(guard, wire::RangePop{i, 0, 0}, i);
      if (kOwnHandlers && i % 16 == 0) capture_launch_stack(guard, 0, i);
    }
  }
  std::atomic<bool> go_on_{true};
  std::vector<std::thread> threads_;
};

wire::SamplerKind kind_of(int session) {
  constexpr wire::SamplerKind kKinds[] = {wire::SamplerKind::kAuto, wire::SamplerKind::kCpuTimer,
                                          wire::SamplerKind::kTgkill};
  return kKinds[session % 3];
}

TEST(Release, LeavesDispositionsDescriptorsAndMapsAsTheyWere) {
  if (!kOwnHandlers) GTEST_SKIP() << "ThreadSanitizer handles signals itself";
  as_worker([] {
    fakes::DaemonSegment segment;
    // libunwind's pools and what libc keeps come with the first session and stay.
    begin_session(segment, wire::SamplerKind::kAuto);
    end_session();
    const auto before = dispositions();
    const int descriptors = open_descriptors(), lines = fakes::count_mappings();
    begin_session(segment, wire::SamplerKind::kAuto);
    EXPECT_NE(signal_number(), 0);
    EXPECT_TRUE(is_guard_active());
    EXPECT_FALSE(dispositions() == before);
    EXPECT_NE(current_snapshot(), nullptr);
    end_session();
    EXPECT_EQ(signal_number(), 0);
    EXPECT_FALSE(is_guard_active());
    EXPECT_TRUE(dispositions() == before);
    EXPECT_EQ(current_snapshot(), nullptr);
    EXPECT_EQ(open_descriptors(), descriptors);
    if (!kSanitized) {
      EXPECT_EQ(fakes::count_mappings(), lines);
    }
  });
}

TEST(Release, WithoutASessionDoesNothing) {
  as_worker([] {
    const auto before = dispositions();
    EXPECT_TRUE(release());
    EXPECT_TRUE(release());
    EXPECT_TRUE(dispositions() == before);
  });
}

TEST(Release, PutsBackWhatTheProgramHadAndLeavesWhatItHasPutThereSince) {
  if (!kOwnHandlers) GTEST_SKIP() << "ThreadSanitizer handles signals itself";
  as_worker([] {
    const int signal = claim_signal();
    ASSERT_NE(signal, 0);
    KernelAction now{};
    kernel_sigaction(signal, nullptr, &now);
    EXPECT_TRUE(now.is_function());
    release_signal();
    kernel_sigaction(signal, nullptr, &now);
    EXPECT_EQ(now, KernelAction{}) << "the default, with nothing of ours in it";
    // When the program takes the same signal
    ASSERT_EQ(claim_signal(), signal);
    const auto programs = [](int) {};
    ::signal(signal, programs);
    KernelAction set{};
    kernel_sigaction(signal, nullptr, &set);
    release_signal();
    kernel_sigaction(signal, nullptr, &now);
    EXPECT_EQ(now, set);
    EXPECT_EQ(signal_number(), 0);
    ::signal(signal, SIG_DFL);
  });
}

// A child in which one of our signals is pending on a thread that blocks it.
// @return how it ended, as waitpid tells.
int end_of_pending_signal(void (*give_up)(int signal)) {
  const pid_t child = fork();
  if (child == 0) {
    const int signal = claim_signal();
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, signal);
    pthread_sigmask(SIG_BLOCK, &ours, nullptr);
    siginfo_t info{};
    info.si_code = SI_QUEUE;
    info.si_value.sival_ptr = signal_cookie(static_cast<pid_t>(::syscall(SYS_gettid)));
    ::syscall(SYS_rt_tgsigqueueinfo, getpid(), ::syscall(SYS_gettid), signal, &info);
    give_up(signal);
    pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Release, ThrowsAwaySignalsThatAreStillPending) {
  if (!kOwnHandlers) GTEST_SKIP() << "ThreadSanitizer handles signals itself";
  EXPECT_EQ(end_of_pending_signal([](int) { release_signal(); }), 0);
  const int careless = end_of_pending_signal([](int signal) { ::signal(signal, SIG_DFL); });
  EXPECT_TRUE(WIFSIGNALED(careless)) << "the test's own signal was never pending";
}

TEST(Release, AWalkUnderWayKeepsItsMemoryUntilItIsOver) {
  as_worker([] {
    fakes::DaemonSegment segment;
    begin_session(segment, wire::SamplerKind::kCpuTimer);
    auto walk = std::make_unique<SnapshotReader>();
    const Snapshot* seen = current_snapshot();
    hot::g_state.on.store(0);
    hot::unpublish_segment(20'000);
    EXPECT_FALSE(release());
    EXPECT_GT(seen->module_count, 0u);
    walk.reset();
    EXPECT_TRUE(release());
    EXPECT_EQ(reclaim_snapshots(), 0u);
  });
}

struct Came {
  std::uint64_t samples = 0, records = 0;
};

void whole_session(wire::SamplerKind kind, Came* came) {
  fakes::DaemonSegment segment;
  begin_session(segment, kind);
  const std::uint64_t end_ns = base::mono_ns() + 5'000'000'000;
  do {
    std::this_thread::sleep_for(milliseconds(tick(base::mono_ns())));
  } while (kOwnHandlers && segment.counter(wire::Counter::kSamplesTaken) == 0 &&
           base::mono_ns() < end_ns);
  end_session();
  const auto kinds = segment.drain();
  came->samples += kinds[static_cast<std::size_t>(wire::Kind::kSample)];
  came->records += kinds[static_cast<std::size_t>(wire::Kind::kRangePop)];
  const std::uint64_t contents = segment.content_hash();
  std::this_thread::sleep_for(milliseconds(2));
  EXPECT_EQ(segment.content_hash(), contents) << "a record in a dead segment";
}

TEST(Release, HundredSessionsOfAProgramThatNeverStops) {
  const Program program(3);
  as_worker([] {
    constexpr int kSessions = 100, kSettled = 20;
    const auto before = dispositions();
    int descriptors = 0, lines = 0;
    long resident = 0;
    Came came;
    for (int session = 0; session < kSessions && !::testing::Test::HasFailure(); ++session) {
      whole_session(kind_of(session), &came);
      if (kOwnHandlers) {
        EXPECT_TRUE(dispositions() == before) << session;
      }
      if (session == kSettled) {
        descriptors = open_descriptors();
        lines = fakes::count_mappings();
        resident = resident_bytes();
      }
      if (session <= kSettled) continue;
      EXPECT_EQ(open_descriptors(), descriptors) << session;
      if (kSanitized) continue;
      EXPECT_LE(fakes::count_mappings(), lines + 1) << session;
      EXPECT_LT(resident_bytes(), resident + (1 << 20)) << session;
    }
    EXPECT_GE(came.samples, kOwnHandlers ? 100u : 0u);
    EXPECT_GE(came.records, 100u);
    std::printf(
        "%lu samples, %lu records; %d lines of maps, then %d; %d descriptors, then %d; "
        "%ld KiB, then %ld\n",
        came.samples, came.records, lines, fakes::count_mappings(), descriptors, open_descriptors(),
        resident >> 10, resident_bytes() >> 10);
  });
}

}  // namespace
}  // namespace gpuprof::sample
