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

using fakes::count_mappings;
using fakes::DaemonSegment;
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
  const Guard guard(RingRole::kCallback);
  return guard && record(guard, wire::RangePop{ts_ns, 0, 0}, ts_ns);
}

// A thread that stays inside from enter() to leave().
class Inside {
 public:
  void enter() {
    thread_ = std::thread([this] {
      const Guard guard(RingRole::kCallback);
      inside_ = static_cast<bool>(guard);
      entered_ = true;
      while (!leave_) std::this_thread::sleep_for(milliseconds(1));
      // As a callback that was held up would go on.
      for (std::uint64_t i = 0; i < 10; ++i) {
        record(guard, wire::RangePop{i, 0, 0}, i);
        count(wire::Counter::kFlushes);
        step_begin(guard, wire::StepSource::kNvtx, i);
        const Guard first(RingRole::kSignal);  // claims a ring buffer, if there is a session
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
        const Guard guard(RingRole::kSignal);
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
  const int before = count_mappings();
  DaemonSegment segment;
  const int with_daemon = count_mappings();
  ASSERT_TRUE(segment.publish());
  EXPECT_EQ(count_mappings(kName), kPublished);
  EXPECT_TRUE(push());
  count(wire::Counter::kFlushes);
  EXPECT_EQ(unpublish_segment(kDeadlineMs), UnpublishResult::kUnmapped);
  EXPECT_EQ(count_mappings(kName), 1);
  EXPECT_LE(count_mappings(), with_daemon + kOwnLines);
  EXPECT_GT(with_daemon, before);
  const std::uint64_t contents = segment.content_hash();
  EXPECT_FALSE(push());
  count(wire::Counter::kFlushes);
  wake_worker();
  EXPECT_FALSE(recording_wanted(0));
  EXPECT_EQ(segment.content_hash(), contents);
  EXPECT_EQ(segment.counter(wire::Counter::kFlushes), 1u);
  EXPECT_EQ(segment.drain_count<wire::RangePop>(), 1u);
  EXPECT_EQ(unpublish_segment(kDeadlineMs), UnpublishResult::kNothing);
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
    EXPECT_EQ(count_mappings(kName), kPublished) << "unmapped under a thread that is inside";
    EXPECT_FALSE(no_thread_inside());
    left = true;
    other.leave();
  });
  EXPECT_EQ(unpublish_segment(kDeadlineMs), UnpublishResult::kUnmapped);
  EXPECT_TRUE(left);
  later.join();
  EXPECT_TRUE(no_thread_inside());
  EXPECT_EQ(segment.drain_count<wire::RangePop>(), 10u) << "what it was about to push is whole";
}

TEST(Reclaim, WhoStaysInsideIsLeftAPlaceThatIsNoSegment) {
  const int before = count_mappings();
  {
    DaemonSegment segment, next;
    ASSERT_TRUE(segment.publish());
    Inside other;
    other.enter();
    EXPECT_EQ(unpublish_segment(50), UnpublishResult::kLeaked);
    EXPECT_EQ(count_mappings(kName), 2) << "the daemons'";
    const std::uint64_t contents = segment.content_hash();
    // A session in between, in which the thread has no part.
    ASSERT_TRUE(next.publish());
    EXPECT_TRUE(push());
    EXPECT_EQ(unpublish_segment(kDeadlineMs), UnpublishResult::kUnmapped);
    ASSERT_TRUE(next.publish());
    other.leave();
    EXPECT_EQ(segment.content_hash(), contents);
    EXPECT_EQ(next.drain_count<wire::RangePop>(), 1u) << "not those of an earlier session";
    EXPECT_EQ(unpublish_segment(kDeadlineMs), UnpublishResult::kUnmapped);
  }
  EXPECT_LE(count_mappings(), before + kOwnLines);
}

TEST(Reclaim, SaysOnceThatSomebodyStayedInside) {
  static int output = 0;
  g_outbox.send_notice = [](wire::Feature, wire::NoticeLevel, std::uint32_t, const char*) {
    ++output;
  };
  report_leaked_segments();
  output = 0;
  DaemonSegment segment;
  ASSERT_TRUE(segment.publish());
  Inside other;
  other.enter();
  EXPECT_EQ(unpublish_segment(1), UnpublishResult::kLeaked);
  report_leaked_segments();
  report_leaked_segments();
  EXPECT_EQ(output, 1);
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
        const Guard guard(RingRole::kCallback);
        *told = current_tid();
        ::syscall(SYS_exit, 0);
        return nullptr;
      },
      nullptr);
  pthread_detach(thread);
  while (tid == 0 || !thread_exited(tid)) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(unpublish_segment(kDeadlineMs), UnpublishResult::kUnmapped);
}

TEST(Reclaim, AnotherSessionIsSentDefinitionsAgain) {
  for (int session = 0; session < 3; ++session) {
    DaemonSegment segment;
    ASSERT_TRUE(segment.publish());
    for (int i = 0; i < 3; ++i) {
      const Guard guard(RingRole::kCallback);
      ASSERT_TRUE(guard);
      intern(guard, "name", 4, 1);
    }
    EXPECT_EQ(segment.drain_count<wire::StringDef>(), 1u) << session;
    EXPECT_EQ(unpublish_segment(kDeadlineMs), UnpublishResult::kUnmapped);
  }
}

TEST(Reclaim, RingsOfTwoSessionsNeverHaveOneEpoch) {
  std::uint32_t epochs[2];
  for (std::uint32_t& epoch : epochs) {
    DaemonSegment segment;
    ASSERT_TRUE(segment.publish());
    {
      const Guard guard(RingRole::kCallback);
      epoch = guard.producer().ring.epoch();
    }
    unpublish_segment(kDeadlineMs);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(Reclaim, AForkedChildTouchesNothingAndMayHaveASegmentOfItsOwn) {
  DaemonSegment segment;
  ASSERT_TRUE(segment.publish());
  EXPECT_TRUE(push());
  const std::uint64_t contents = segment.content_hash();
  const pid_t child = fork();
  if (child == 0) {
    bool good = !push() && count_mappings(kName) == kPublished;
    drop_segment_after_fork();
    count(wire::Counter::kFlushes);
    good = good && !push() && count_mappings(kName) == 1;
    DaemonSegment own;
    good = good && own.publish() && push() && own.drain_count<wire::RangePop>() == 1;
    good = good && unpublish_segment(kDeadlineMs) == UnpublishResult::kUnmapped;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(segment.content_hash(), contents);
  EXPECT_TRUE(push());
  unpublish_segment(kDeadlineMs);
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
    ASSERT_EQ(unpublish_segment(kDeadlineMs), UnpublishResult::kUnmapped);
    told += segment->drain_count<wire::RangePop>();
    EXPECT_EQ(count_mappings(kName), earlier == nullptr ? 1 : 2);
    // A record in a dead segment would be seen here, a session later.
    if (earlier != nullptr) {
      EXPECT_EQ(earlier->content_hash(), earlier_contents);
    }
    earlier = std::move(segment);
    earlier_contents = earlier->content_hash();
    if (session == 3) lines = count_mappings();
    if (session > 3) {
      EXPECT_LE(count_mappings(), lines + 2 + kOwnLines) << session;
    }
  }
  EXPECT_EQ(told, recording.pushed()) << "records between two sessions";
}

}  // namespace
}  // namespace gpuprof::hot
