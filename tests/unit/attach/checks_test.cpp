// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/process/checks.hpp"

#include <elf.h>
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "daemon/attach/inject.hpp"
#include "daemon/attach/ptrace/step_out.hpp"

namespace gpuprof::attach {
namespace {

using testing::HasSubstr;

constexpr char kSleeper[] =
    "Name:\tmy prog\nState:\tS (sleeping)\nTgid:\t70\nPPid:\t1\nTracerPid:\t0\n"
    "Uid:\t1000\t1001\t1002\t1000\nNSpid:\t70\t3\nVmSize:\t  100 kB\nSeccomp:\t0\n"
    "SigBlk:\t0000000000400000\nSigCgt:\t0000000008000002\n";

std::string status_with(const std::string& from, const std::string& to) {
  std::string text = kSleeper;
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string why(const std::string& text, bool ignore_seccomp = false) {
  ProcStatus tracer;
  tracer.there = true;
  tracer.process = 55;
  tracer.name = "gdb";
  return refusal_by_status(70, parse_status(text), tracer, ignore_seccomp);
}

TEST(Status, ReadsTheFields) {
  const ProcStatus status = parse_status(kSleeper);
  EXPECT_TRUE(status.there && !status.kernel && !status.ending && !status.shadow_stack);
  EXPECT_EQ(status.name, "my prog");
  EXPECT_EQ(status.state, 'S');
  EXPECT_EQ(status.process, 70);
  EXPECT_EQ(status.parent, 1);
  EXPECT_EQ(status.effective_uid, 1001U);
  EXPECT_EQ(status.inner_pid, "3");
  EXPECT_EQ(status.blocked, 0x400000U);
  EXPECT_EQ(status.caught, 0x8000002U);
  EXPECT_FALSE(parse_status("").there);
}

TEST(Status, AnOrdinaryProcessIsNotRefused) { EXPECT_EQ(why(kSleeper), ""); }

TEST(Status, EachRefusalHasItsSentence) {
  EXPECT_THAT(why(""), HasSubstr("process 70 does not exist"));
  EXPECT_THAT(why(status_with("Tgid:\t70", "Tgid:\t69")), HasSubstr("thread of process 69"));
  EXPECT_THAT(why(status_with("S (sl", "Z (zo")), HasSubstr("has ended"));
  EXPECT_THAT(why(status_with("VmSize:\t  100 kB\n", "")), HasSubstr("has ended"));
  EXPECT_THAT(why(status_with("State:\tS (sl", "Threads:\t1\nState:\tZ (zo")),
              HasSubstr("has ended and"));
  EXPECT_THAT(why(status_with("State:\tS (sl", "Threads:\t3\nState:\tZ (zo")),
              HasSubstr("the main thread of process 70"));
  EXPECT_THAT(why(status_with("VmSize:\t  100 kB\n", "Kthread:\t1\n")),
              HasSubstr("is a kernel thread"));
  EXPECT_THAT(why(status_with("TracerPid:\t0", "TracerPid:\t56")),
              HasSubstr("by process 55 (gdb)"));
  EXPECT_THAT(why(status_with("S (sl", "T (st")), HasSubstr("kill -CONT 70"));
  EXPECT_THAT(why(status_with("Seccomp:\t0", "Seccomp:\t1"), true), HasSubstr("strict mode"));
  EXPECT_THAT(why(status_with("Seccomp:\t0", "Seccomp:\t2")), HasSubstr("--ignore-seccomp"));
  EXPECT_EQ(why(status_with("Seccomp:\t0", "Seccomp:\t2"), true), "");
  EXPECT_THAT(why(status_with("Seccomp:\t0", "x86_Thread_features:\tshstk wrss")),
              HasSubstr("shadow stacks"));
}

TEST(Image, RefusesWhatCannotLoadOurLibrary) {
  const Maps glibc = parse_maps("1000-2000 r-xp 0 8:1 7 /lib/libc.so.6\n");
  const Maps musl = parse_maps("1000-2000 r-xp 0 8:1 7 /lib/ld-musl-x86_64.so.1\n");
  EXPECT_EQ(refusal_by_image(70, glibc, ELFCLASS64), "");
  EXPECT_EQ(refusal_by_image(70, glibc, 0), "");
  EXPECT_THAT(refusal_by_image(70, glibc, ELFCLASS32), HasSubstr("32-bit"));
  EXPECT_THAT(refusal_by_image(70, musl, ELFCLASS64), HasSubstr("musl"));
  EXPECT_THAT(refusal_by_image(70, {}, ELFCLASS64), HasSubstr("statically linked"));
}

TEST(PtraceDenial, SaysWhoMay) {
  EXPECT_THAT(denial_message(70, {ESRCH, 1000, false, false, 0}), HasSubstr("has ended"));
  EXPECT_THAT(denial_message(70, {EACCES, 1000, true, false, 1}), HasSubstr("another user"));
  EXPECT_THAT(denial_message(70, {EACCES, 1000, false, true, 0}), HasSubstr("not dumpable"));
  EXPECT_THAT(denial_message(70, {EACCES, 1000, false, false, 1}), HasSubstr("ptrace_scope is 1"));
  EXPECT_THAT(denial_message(70, {EACCES, 1000, false, false, 2}), HasSubstr("ptrace_scope is 2"));
  EXPECT_THAT(denial_message(70, {EPERM, 0, false, false, 3}), HasSubstr("until the next boot"));
  // Root without the capability, in a container.
  EXPECT_THAT(denial_message(70, {EPERM, 0, true, false, 1}), HasSubstr("SYS_PTRACE"));
}

TEST(HarmlessSignal, IsNeitherBlockedNorCaught) {
  EXPECT_EQ(harmless_signal(0, 0), SIGURG);
  EXPECT_EQ(harmless_signal(1U << (SIGURG - 1), 0), SIGWINCH);
  EXPECT_EQ(harmless_signal(0, 1U << (SIGURG - 1)), SIGWINCH);
  EXPECT_EQ(harmless_signal(1U << (SIGURG - 1), 1U << (SIGWINCH - 1)), 0);
}

TEST(MayAttach, RefusesItself) {
  const auto result = may_attach(getpid(), false);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("itself"));
}

}  // namespace
}  // namespace gpuprof::attach
