// SPDX-License-Identifier: Apache-2.0
//
// The niceness of a session, as the kernel shows it.
#include "support/process/autogroup.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace gpuprof::support {
namespace {

constexpr int kNone = -100;  // this kernel has no autogroups

// "/autogroup-123 nice 0"
int shown() {
  std::ifstream file("/proc/self/autogroup");
  std::string group, word;
  int niceness = kNone;
  file >> group >> word >> niceness;
  return niceness;
}

/// The kernel takes a change in 100 ms, of all sessions there are; others may be quicker.
int want(AutogroupNice& session, int niceness) {
  for (int i = 0; i < 6'000 && shown() != niceness; ++i) {
    session.set(niceness);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return shown();
}

template <typename F>
int in_child(F what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(AutogroupNice, OfASessionOfOursIsLoweredAndRaisedAgain) {
  if (shown() == kNone) GTEST_SKIP() << "this kernel has no autogroups";
  const int wrong = in_child([] {
    if (::setsid() < 0 || shown() != 0) return 1;
    AutogroupNice session;
    if (want(session, 10) != 10) return 2;
    return want(session, 0) == 0 ? 0 : 3;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(AutogroupNice, OfOneThatOthersAreInStays) {
  if (shown() == kNone) GTEST_SKIP() << "this kernel has no autogroups";
  const int before = shown();
  const int seen = in_child([] {
    AutogroupNice session;
    session.set(10);
    return shown();
  });
  EXPECT_EQ(seen, before);
  EXPECT_EQ(shown(), before);
}

}  // namespace
}  // namespace gpuprof::support
