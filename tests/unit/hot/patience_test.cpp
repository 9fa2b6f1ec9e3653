// SPDX-License-Identifier: Apache-2.0
//
// What a deadline counts: of a thread that is runnable and one that is not.
#include "inject/hot/worker/patience.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace gpuprof::hot {
namespace {

std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

/// A thread that waits until the test's end.
class Sleeper {
 public:
  Sleeper() {
    while (tid_ == 0 || is_runnable(tid_)) usleep(1000);
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
  EXPECT_TRUE(is_runnable(own_tid()));
  EXPECT_FALSE(is_runnable(Sleeper().tid()));
  EXPECT_FALSE(is_runnable(0)) << "there is none";
}

TEST(Patience, OfOneThatSleepsOrWithoutMoreTimeEndsWithTheDeadline) {
  const Sleeper sleeper;
  Patience with_more(2, 1'000'000), without(2, 0);
  usleep(3000);
  EXPECT_TRUE(with_more.over(sleeper.tid()));
  EXPECT_TRUE(without.over(own_tid()));
}

TEST(Patience, OfOneThatWaitsForAProcessorGoesOn) {
  const Sleeper sleeper;
  Patience patience(2, 1'000'000);
  usleep(3000);
  EXPECT_FALSE(patience.over(own_tid()));
  usleep(3000);
  EXPECT_TRUE(patience.over(sleeper.tid())) << "it has got one, and stands still";
}

TEST(Patience, IsNotWithoutEnd) {
  Patience patience(2, 2);
  usleep(3000);
  EXPECT_FALSE(patience.over(own_tid()));
  usleep(3000);
  EXPECT_TRUE(patience.over(own_tid()));
}

}  // namespace
}  // namespace gpuprof::hot
