// SPDX-License-Identifier: Apache-2.0
//
// What a deadline counts: of a thread that is at work and one that is not.
#include "inject/hot/worker/deadline.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

namespace gpuprof::hot {
namespace {

std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

char state_of(std::uint32_t tid) {
  std::ifstream stat("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string line;
  std::getline(stat, line);
  const std::size_t end = line.rfind(')');
  return end == std::string::npos ? '?' : line[end + 2];
}

/// A thread that waits until the test's end.
class Sleeper {
 public:
  Sleeper() {
    while (tid_ == 0 || is_runnable_or_blocked(tid_)) usleep(1000);
  }
  ~Sleeper() {
    done_ = true;
    done_.notify_one();
    thread_.join();
  }
  std::uint32_t tid() const { return tid_; }

 private:
  std::atomic<std::uint32_t> tid_{0};
  std::atomic<bool> done_{false};
  std::thread thread_{[this] {
    tid_ = own_tid();
    done_.wait(false);
  }};
};

TEST(Patience, KnowsWhoWantsToRun) {
  EXPECT_TRUE(is_runnable_or_blocked(own_tid()));
  EXPECT_FALSE(is_runnable_or_blocked(Sleeper().tid()));
  EXPECT_FALSE(is_runnable_or_blocked(0)) << "there is none";
}

// As a membarrier that waits for a busy processor: vfork waits in the same way. By bare calls, for
// a sanitizer makes a fork of it.
TEST(Patience, KnowsWhoIsInsideTheKernel) {
  int ends[2];
  ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
  std::atomic<std::uint32_t> tid{0};
  std::thread inside([&] {
    tid = own_tid();
    const long child = ::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      char byte;
      ::syscall(SYS_read, ends[0], &byte, 1);
      ::syscall(SYS_exit_group, 0);
    }
    ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  });
  const auto sleeps = [&] { return state_of(tid) == 'D'; };
  for (int i = 0; i < 30'000 && !sleeps(); ++i) usleep(1000);
  EXPECT_TRUE(sleeps());
  EXPECT_TRUE(is_runnable_or_blocked(tid));
  EXPECT_EQ(1, ::write(ends[1], "", 1));
  inside.join();
}

TEST(Patience, OfOneThatSleepsOrWithoutMoreTimeEndsWithTheDeadline) {
  const Sleeper sleeper;
  Deadline with_more(2, 1'000'000), without(2, 0);
  usleep(3000);
  EXPECT_TRUE(with_more.expired(sleeper.tid()));
  EXPECT_TRUE(without.expired(own_tid()));
}

TEST(Patience, OfOneThatWaitsForAProcessorGoesOn) {
  const Sleeper sleeper;
  Deadline timeout(2, 1'000'000);
  usleep(3000);
  EXPECT_FALSE(timeout.expired(own_tid()));
  usleep(3000);
  EXPECT_TRUE(timeout.expired(sleeper.tid())) << "it has got one, and stands still";
}

TEST(Patience, IsNotWithoutEnd) {
  Deadline timeout(2, 2);
  usleep(3000);
  EXPECT_FALSE(timeout.expired(own_tid()));
  usleep(3000);
  EXPECT_TRUE(timeout.expired(own_tid()));
}

}  // namespace
}  // namespace gpuprof::hot
