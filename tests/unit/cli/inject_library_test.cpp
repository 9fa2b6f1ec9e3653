// SPDX-License-Identifier: Apache-2.0
#include "cli/target/inject_library.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process/procfs.hpp"

namespace gpuprof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const auto kOwn = static_cast<std::uint32_t>(::getpid());

TEST(BringIn, EachAnswerHasItsWords) {
  EXPECT_EQ("", start_failure_reason(7, 0));
  EXPECT_EQ("", start_failure_reason(7, 1));
  EXPECT_THAT(start_failure_reason(7, 2),
              HasSubstr("process 7 has the gpuprof library of another version"));
  EXPECT_THAT(start_failure_reason(7, 3), HasSubstr("pids.max"));
  EXPECT_THAT(start_failure_reason(7, 4), HasSubstr("may not read the time stamp counter"));
  EXPECT_THAT(start_failure_reason(7, 5), HasSubstr("(status 5)"));
}

TEST(BringIn, OneThatGoesOnMayStillAnswer) {
  EXPECT_EQ("", process_gone_reason(kOwn, support::exec_fingerprint(::getpid())));
}

TEST(BringIn, AnotherProgramIsNoticed) {
  EXPECT_NE(0u, support::exec_fingerprint(::getpid()));
  EXPECT_THAT(process_gone_reason(kOwn, support::exec_fingerprint(::getpid()) ^ 2),
              HasSubstr("started another program (exec)"));
}

TEST(BringIn, TheEndIsNoticedBeforeAnybodyCollectsIt) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info;
  ASSERT_EQ(0, ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT));
  const auto pid = static_cast<std::uint32_t>(child);
  EXPECT_THAT(process_gone_reason(pid, 1),
              StartsWith("process " + std::to_string(pid) + " ended during"));
  ::waitpid(child, nullptr, 0);
  EXPECT_THAT(process_gone_reason(pid, 1), HasSubstr("ended during"));
}

}  // namespace
}  // namespace gpuprof::cli
