// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/ptrace/step_out.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "daemon/attach/ptrace/tracee.hpp"
#include "gpuprof/base/clock.hpp"

namespace gpuprof::attach {
namespace {

constexpr int kStatus = 7;
constexpr std::uint64_t kLongNs = 60'000'000'000, kShortNs = 50'000'000;

[[gnu::noinline]] void way_out() { _exit(kStatus); }

struct Signs {
  std::atomic<bool> ready{false}, begins{false};
};

/// Leaves no signal for a breakpoint but SIGTRAP, and stops for nobody while its child lives.
[[noreturn]] void waits_for_its_child(Signs& signs) {
  sigset_t harmless;
  sigemptyset(&harmless);
  sigaddset(&harmless, SIGURG);
  sigaddset(&harmless, SIGWINCH);
  sigprocmask(SIG_BLOCK, &harmless, nullptr);
  signs.ready = true;
  while (!signs.begins) usleep(1000);
  if (vfork() == 0) {
    usleep(600'000);
    _exit(0);
  }
  way_out();
  abort();
}

TEST(StepOut, LeavesNoBreakpointInAThreadThatStopsLate) {
  // given: a stopped thread that goes where no stop reaches it as soon as it runs again
  void* const memory =
      mmap(nullptr, sizeof(Signs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Signs& signs = *new (memory) Signs;
  const pid_t child = fork();
  if (child == 0) waits_for_its_child(signs);
  int status = 0;
  {
    Tracee tracee;
    const int failure = tracee.seize(child);
    if (failure != 0) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      GTEST_SKIP() << "ptrace: " << strerror(failure);
    }
    while (!signs.ready) usleep(1000);
    ASSERT_EQ(tracee.stop(base::mono_ns() + kLongNs), StopReason::kTrap);
    // when: it does not come to the breakpoint in time
    signs.begins = true;
    EXPECT_FALSE(step_out(tracee, reinterpret_cast<std::uint64_t>(&way_out),
                          base::mono_ns() + kShortNs, [](Phase) {}));
    EXPECT_TRUE(tracee.is_stopped() || tracee.wait(base::mono_ns() + kLongNs) == StopReason::kTrap);
  }
  // then: it comes there unharmed
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), kStatus);
  munmap(memory, sizeof(Signs));
}

}  // namespace
}  // namespace gpuprof::attach
