// SPDX-License-Identifier: Apache-2.0
//
// Segments that come and go while threads record.
#include "inject/hot/segment_lifetime.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "inject/hot/outbox.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/hot/steps.hpp"
#include "tests/fakes/daemon_segment.hpp"

namespace gpuprof::hot {
namespace {

using fakes::DaemonSegment;
using fakes::lines_of_maps;
using std::chrono::milliseconds;

constexpr char kName[] = "daemon_segment";
// The daemon's mapping, ours, and the window's two pages, which lie side by side in both.
constexpr int kPublished = 3;
// ThreadSanitizer maps its own memory as threads and addresses appear.
#ifdef __SANITIZE_THREAD__
constexpr int kOwnLines = 1'000'000;
#else
constexpr int kOwnLines = 0;
#endif
// Long enough that a busy machine is no reason.
constexpr std::uint32_t kDeadlineMs = 20'000;

bool push(std::uint64_t ts_ns = 1) {
  const Guard guard(Role::kCallback);
  return guard && record(guard, wire::RangePop{ts_ns, 0, 0}, ts_ns);
}

// A thread that stays inside from enter() to leave().
class Inside {
 public:
  void enter() {
    thread_ = std::thread([this] {
      const Guard guard(Role::kCallback);
      inside_ = static_cast<bool>(guard);
      entered_ = true;
      while (!leave_) std::this_thread::sleep_for(milliseconds(1));
      // As a callback that was held up would go on.
      for (std::uint64_t i = 0; i < 10; ++i) {
        record(guard, wire::RangePop{i, 0, 0}, i);
        count(wire::Counter::kFlushes);
        step_begin(guard, wire::StepSource::kNvtx, i);
        const Guard first(Role::kSignal);  // claims a lane, if there is a session
      }
    });
    while (!entered_) std::this_thread::sleep_for(milliseconds(1));
  }
  void leave() {
    leave_ = true;
    if (thread_.joinable()) thread_.join();
  }
  bool inside() const { return inside_; }
  ~Inside() { leave(); }

 private:
  std::atomic<bool> entered_{false}, inside_{false}, leave_{false};
  std::thread thread_;
};

// Threads that record, count and ask all the time, with a segment or without one.
class Recording {
 public:
  explicit Recording(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Recording() {
    go_on_ = false;
    for (std::thread& thread : threads_) thread.join();
  }
  std::uint64_t pushed() const { return pushed_; }

 private:
  void run() {
    for (std::uint64_t i = 0; go_on_; ++i) {
      if (push(i)) ++pushed_;
      count(wire::Counter::kNvtxCalls);
      recording_wanted(i);
      if (i % 64 == 0) wake_worker();
      {
        const Guard guard(Role::kSignal);
        if (guard) intern(guard, "a text", 6, i);
      }
      if (i % 4096 == 0) std::this_thread::yield();
    }
  }
  std::atomic<bool> go_on_{true};
  std::atomic<std::uint64_t> pushed_{0};
  std::vector<std::thread> threads_;
};

TEST(Reclaim, NothingIsMappedAfterwardsAndNobodyRecords) {
  const int before = lines_of_maps();
  DaemonSegment segment;
  const int with_daemon = lines_of_maps();
  ASSERT_TRUE(segment.publish());
  EXPECT_EQ(lines_of_maps(kName), kPublished);
  EXPECT_TRUE(push());
  count(wire::Counter::kFlushes);
  EXPECT_EQ(withdraw(kDeadlineMs), Withdrawn::kUnmapped);
  EXPECT_EQ(lines_of_maps(kName), 1);
  EXPECT_LE(lines_of_maps(), with_daemon + kOwnLines);
  EXPECT_GT(with_daemon, before);
  const std::uint64_t contents = segment.contents();
  EXPECT_FALSE(push());
  count(wire::Counter::kFlushes);
  wake_worker();
  EXPECT_FALSE(recording_wanted(0));
  EXPECT_EQ(segment.contents(), contents);
  EXPECT_EQ(segment.counter(wire::Counter::kFlushes), 1u);
  EXPECT_EQ(segment.drained<wire::RangePop>(), 1u);
  EXPECT_EQ(withdraw(kDeadlineMs), Withdrawn::kNothing);
}

TEST(Reclaim, AThreadInsideIsWaitedFor) {
  DaemonSegment segment;
  ASSERT_TRUE(segment.publish());
  Inside other;
  other.enter();
  ASSERT_TRUE(other.inside());
  std::atomic<bool> left{false};
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_EQ(lines_of_maps(kName), kPublished) << "unmapped under a thread that is inside";
    EXPECT_FALSE(nobody_inside());
    left = true;
    other.leave();
  });
  EXPECT_EQ(withdraw(kDeadlineMs), Withdrawn::kUnmapped);
  EXPECT_TRUE(left);
  later.join();
  EXPECT_TRUE(nobody_inside());
  EXPECT_EQ(segment.drained<wire::RangePop>(), 10u) << "what it was about to push is whole";
}

TEST(Reclaim, WhoStaysInsideIsLeftAPlaceThatIsNoSegment) {
  const int before = lines_of_maps();
  {
    DaemonSegment segment, next;
    ASSERT_TRUE(segment.publish());
    Inside other;
    other.enter();
    EXPECT_EQ(withdraw(50), Withdrawn::kKept);
    EXPECT_EQ(lines_of_maps(kName), 2) << "the daemons'";
    const std::uint64_t contents = segment.contents();
    // A session in between, in which the thread has no part.
    ASSERT_TRUE(next.publish());
    EXPECT_TRUE(push());
    EXPECT_EQ(withdraw(kDeadlineMs), Withdrawn::kUnmapped);
    ASSERT_TRUE(next.publish());
    other.leave();
    EXPECT_EQ(segment.contents(), contents);
    EXPECT_EQ(next.drained<wire::RangePop>(), 1u) << "not those of an earlier session";
    EXPECT_EQ(withdraw(kDeadlineMs), Withdrawn::kUnmapped);
  }
  EXPECT_LE(lines_of_maps(), before + kOwnLines);
}

TEST(Reclaim, SaysOnceThatSomebodyStayedInside) {
  static int said = 0;
  g_outbox.notice = [](wire::Feature, wire::NoticeLevel, std::uint32_t, const char*) { ++said; };
  report_kept_segments();
  said = 0;
  DaemonSegment segment;
  ASSERT_TRUE(segment.publish());
  Inside other;
  other.enter();
  EXPECT_EQ(withdraw(1), Withdrawn::kKept);
  report_kept_segments();
  report_kept_segments();
  EXPECT_EQ(said, 1);
  g_outbox = {};
}

TEST(Reclaim, AThreadThatDiedInsideHoldsNobodyUp) {
  DaemonSegment segment;
  ASSERT_TRUE(segment.publish());
  std::atomic<std::uint32_t> tid{0};
  // glibc must not wait for it: it never learns that the thread is gone.
  static std::atomic<std::uint32_t>* told = &tid;
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        const Guard guard(Role::kCallback);
        *told = this_tid();
        ::syscall(SYS_exit, 0);
        return nullptr;
      },
      nullptr);
  pthread_detach(thread);
  while (tid == 0 || !thread_has_ended(tid)) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(withdraw(kDeadlineMs), Withdrawn::kUnmapped);
}

TEST(Reclaim, AnotherSessionIsSentDefinitionsAgain) {
  for (int session = 0; session < 3; ++session) {
    DaemonSegment segment;
    ASSERT_TRUE(segment.publish());
    for (int i = 0; i < 3; ++i) {
      const Guard guard(Role::kCallback);
      ASSERT_TRUE(guard);
      intern(guard, "name", 4, 1);
    }
    EXPECT_EQ(segment.drained<wire::StringDef>(), 1u) << session;
    EXPECT_EQ(withdraw(kDeadlineMs), Withdrawn::kUnmapped);
  }
}

TEST(Reclaim, LanesOfTwoSessionsNeverHaveOneEpoch) {
  std::uint32_t epochs[2];
  for (std::uint32_t& epoch : epochs) {
    DaemonSegment segment;
    ASSERT_TRUE(segment.publish());
    {
      const Guard guard(Role::kCallback);
      epoch = guard.outlet().lane.epoch();
    }
    withdraw(kDeadlineMs);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(Reclaim, AForkedChildTouchesNothingAndMayHaveASegmentOfItsOwn) {
  DaemonSegment segment;
  ASSERT_TRUE(segment.publish());
  EXPECT_TRUE(push());
  const std::uint64_t contents = segment.contents();
  const pid_t child = fork();
  if (child == 0) {
    bool good = !push() && lines_of_maps(kName) == kPublished;
    forget_segment_after_fork();
    count(wire::Counter::kFlushes);
    good = good && !push() && lines_of_maps(kName) == 1;
    DaemonSegment own;
    good = good && own.publish() && push() && own.drained<wire::RangePop>() == 1;
    good = good && withdraw(kDeadlineMs) == Withdrawn::kUnmapped;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(segment.contents(), contents);
  EXPECT_TRUE(push());
  withdraw(kDeadlineMs);
}

TEST(Reclaim, HundredSessionsUnderThreadsThatAlwaysRecord) {
  constexpr int kSessions = 100;
  const Recording recording(4);
  int lines = 0;
  std::uint64_t told = 0;
  std::unique_ptr<DaemonSegment> earlier;
  std::uint64_t earlier_contents = 0;
  for (int session = 0; session < kSessions; ++session) {
    auto segment = std::make_unique<DaemonSegment>();
    const std::uint64_t before = recording.pushed();
    ASSERT_TRUE(segment->publish());
    while (recording.pushed() < before + 20) std::this_thread::yield();
    ASSERT_EQ(withdraw(kDeadlineMs), Withdrawn::kUnmapped);
    told += segment->drained<wire::RangePop>();
    EXPECT_EQ(lines_of_maps(kName), earlier == nullptr ? 1 : 2);
    // A record in a dead segment would be seen here, a session later.
    if (earlier != nullptr) {
      EXPECT_EQ(earlier->contents(), earlier_contents);
    }
    earlier = std::move(segment);
    earlier_contents = earlier->contents();
    if (session == 3) lines = lines_of_maps();
    if (session > 3) {
      EXPECT_LE(lines_of_maps(), lines + 2 + kOwnLines) << session;
    }
  }
  EXPECT_EQ(told, recording.pushed()) << "records between two sessions";
}

}  // namespace
}  // namespace gpuprof::hot
