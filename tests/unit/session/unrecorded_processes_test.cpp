// SPDX-License-Identifier: Apache-2.0
//
// Processes that work and never said hello: real ones, below this one.
#include "daemon/session/processes/unrecorded_processes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "gpuprof/base/clock.hpp"

namespace gpuprof::session {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class UnseenTest : public testing::Test {
 protected:
  ~UnseenTest() override {
    for (const pid_t pid : children_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

  pid_t start(void (*body)()) {
    const pid_t pid = fork();
    if (pid == 0) {
      body();
      _exit(0);
    }
    children_.push_back(pid);
    return pid;
  }
  static void work() {
    while (true) getppid();
  }
  static void rest() {
    while (true) pause();
  }
  /// The sentences as soon as there are so many; a look now and then, as in a session.
  std::vector<std::string> wait_for(std::size_t count) {
    for (int i = 0; i < 3000; ++i) {
      UnrecordedProcesses unseen;
      unseen.look(static_cast<std::uint32_t>(getpid()), is_known_, base::mono_ns());
      if (auto told = unseen.messages(is_known_); told.size() >= count) return told;
      usleep(20'000);
    }
    return {};
  }

  std::vector<pid_t> children_;
  std::set<std::uint32_t> known_;
  const UnrecordedProcesses::IsKnown is_known_ = [this](std::uint32_t pid) {
    return known_.contains(pid);
  };
};

TEST_F(UnseenTest, OneThatWorkedIsToldWithTheReason) {
  start(rest);
  const pid_t worker = start(work);
  const std::vector<std::string> told = wait_for(1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("process " + std::to_string(worker) + " ("));
  EXPECT_THAT(told[0], HasSubstr(") was not recorded: "));
  EXPECT_THAT(told[0], AnyOf(HasSubstr("it was started without gpuprof's LD_PRELOAD"),
                             HasSubstr("it is built with a sanitizer")));
}

TEST_F(UnseenTest, OneThatIsKnownIsNotToldAlsoWhereItSaidHelloLater) {
  const pid_t first = start(work), second = start(work);
  ASSERT_EQ(wait_for(2).size(), 2U);
  UnrecordedProcesses unseen;
  unseen.look(static_cast<std::uint32_t>(getpid()), is_known_, base::mono_ns());
  ASSERT_EQ(unseen.messages(is_known_).size(), 2U);
  known_.insert(static_cast<std::uint32_t>(second));
  const std::vector<std::string> told = unseen.messages(is_known_);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("process " + std::to_string(first) + " ("));
}

TEST_F(UnseenTest, ThoseOfAChildAreBelowTheProgramToo) {
  start([] {
    if (fork() == 0) work();
    rest();
  });
  // The child rests: it is the grandchild.
  const std::vector<std::string> told = wait_for(1);
  ASSERT_EQ(told.size(), 1U);
  const pid_t grandchild = std::stoi(told[0].substr(std::string("process ").size()));
  EXPECT_NE(grandchild, children_[0]);
  kill(grandchild, SIGKILL);
}

TEST_F(UnseenTest, OfManyTheBusiestAreNamedAndTheRestCounted) {
  for (int i = 0; i < 10; ++i) start(work);
  const std::vector<std::string> told = wait_for(9);
  ASSERT_EQ(told.size(), 9U);
  EXPECT_THAT(told[8], HasSubstr(" more process"));
  EXPECT_THAT(told[8], HasSubstr(" not recorded"));
}

TEST_F(UnseenTest, ALookIsNotMadeAgainBeforeASecondHasPassed) {
  start(work);
  ASSERT_EQ(wait_for(1).size(), 1U);
  UnrecordedProcesses unseen;
  const std::uint64_t now_ns = base::mono_ns();
  unseen.look(
      static_cast<std::uint32_t>(getpid()), [](auto) { return true; }, now_ns);
  unseen.look(static_cast<std::uint32_t>(getpid()), is_known_, now_ns + 999'000'000);
  EXPECT_TRUE(unseen.messages(is_known_).empty());
}

}  // namespace
}  // namespace gpuprof::session
