// SPDX-License-Identifier: Apache-2.0
#include "serve/capture_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <thread>

namespace gpuprof::serve {
namespace {

constexpr std::uint64_t kLongNs = 300'000'000'000;

support::Result<CaptureProcess> shell(const std::string& script, int kept = -1) {
  return CaptureProcess::start({"/bin/sh", "-c", script}, kept);
}

TEST(Child, TellsItsStatusAndWhatItWroteToStderr) {
  auto child = shell("echo one >&2; echo two; exit 3");
  ASSERT_TRUE(child);
  ASSERT_TRUE(child.value().wait_until_ended(kLongNs));
  EXPECT_EQ(WEXITSTATUS(child.value().wait_status()), 3);
  EXPECT_EQ(child.value().stderr_text(), "one\n");
}

TEST(Child, MayWriteMoreThanAPipeHolds) {
  auto child = shell("head -c 1000000 /dev/zero >&2");
  ASSERT_TRUE(child);
  ASSERT_TRUE(child.value().wait_until_ended(kLongNs));
  EXPECT_EQ(WEXITSTATUS(child.value().wait_status()), 0);
  EXPECT_GE(child.value().stderr_text().size(), 65'536U);
}

TEST(Child, IsInterruptedWhoeverBlocksThatHere) {
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  auto child = shell("trap 'exit 5' INT; echo ready >&2; while :; do sleep 0.01; done");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(child);
  while (child.value().stderr_text().empty()) std::this_thread::yield();
  EXPECT_FALSE(child.value().wait_until_ended(0));
  child.value().interrupt();
  ASSERT_TRUE(child.value().wait_until_ended(kLongNs));
  EXPECT_EQ(WEXITSTATUS(child.value().wait_status()), 5);
}

TEST(Child, KeepsOneDescriptorAndNoOther) {
  auto child = shell("exec ls /proc/self/fd >&2", 1);
  ASSERT_TRUE(child);
  ASSERT_TRUE(child.value().wait_until_ended(kLongNs));
  EXPECT_EQ(child.value().stderr_text(), "0\n1\n2\n3\n4\n");  // 4 is the folder that ls reads
}

TEST(Child, WithoutAFileEndsWith127) {
  auto child = CaptureProcess::start({"/nowhere/at/all"}, -1);
  ASSERT_TRUE(child);
  ASSERT_TRUE(child.value().wait_until_ended(kLongNs));
  EXPECT_EQ(WEXITSTATUS(child.value().wait_status()), 127);
}

}  // namespace
}  // namespace gpuprof::serve
