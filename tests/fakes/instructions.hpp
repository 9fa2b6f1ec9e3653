// SPDX-License-Identifier: Apache-2.0
//
// How many instructions something takes: counted one by one, the same on a busy machine.
//
// Context:  tests
// Owns:     a child process while it counts
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

extern "C" const char __executable_start, etext;  // of the linker

namespace gpuprof::fakes {

/// What the thread that is counted and the one that counts tell each other.
struct InstructionCount {
  enum State { kBegins, kMayTrace, kTraces, kCounts, kDone, kRefused };
  std::atomic<State> state{kBegins};
  std::atomic<std::uint64_t> instructions{0};
};

/// Whether the thread that is stopped is in the test's own program, which has the library in it.
/// The kernel's clock, for one, reads again where it moved meanwhile, the more often the slower the
/// steps.
inline bool in_own_code(pid_t tid) {
#if defined(__x86_64__)
  const auto at = static_cast<std::uint64_t>(
      ptrace(PTRACE_PEEKUSER, tid, offsetof(user_regs_struct, rip), nullptr));
  const auto begin = reinterpret_cast<std::uint64_t>(&__executable_start);
  return at - begin < reinterpret_cast<std::uint64_t>(&etext) - begin;
#else
  return tid != 0;
#endif
}

/// Steps through the thread until it is done. In a child of its process.
inline void count_steps(pid_t tid, InstructionCount& counting) {
  while (counting.state == InstructionCount::kBegins) usleep(100);
  int status = 0;
  if (ptrace(PTRACE_ATTACH, tid, nullptr, nullptr) != 0 || waitpid(tid, &status, __WALL) != tid) {
    counting.state = InstructionCount::kRefused;
    return;
  }
  counting.state = InstructionCount::kTraces;
  std::uint64_t steps = 0;
  while (WIFSTOPPED(status) && counting.state != InstructionCount::kDone) {
    steps += counting.state == InstructionCount::kCounts && in_own_code(tid) ? 1 : 0;
    // Any other signal is the program's.
    const int signal = WSTOPSIG(status);
    const bool ours = signal == SIGTRAP || signal == SIGSTOP;
    if (ptrace(PTRACE_SINGLESTEP, tid, nullptr, ours ? 0 : signal) != 0 ||
        waitpid(tid, &status, __WALL) != tid)
      return;
  }
  counting.instructions = steps;
  ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
}

/// Begins to step through the calling thread. False: nobody may trace here.
inline bool begin_counting(InstructionCount& counting, pid_t* child) {
  const auto tid = static_cast<pid_t>(::syscall(SYS_gettid));
  *child = fork();
  if (*child == 0) {
    count_steps(tid, counting);
    _exit(0);
  }
  prctl(PR_SET_PTRACER, *child, 0, 0, 0);
  counting.state = InstructionCount::kMayTrace;
  while (counting.state == InstructionCount::kMayTrace)
    if (waitpid(*child, nullptr, WNOHANG) == *child) return false;
  if (counting.state == InstructionCount::kTraces) return true;
  waitpid(*child, nullptr, 0);
  return false;
}

/// Of body(), on this thread and in the program's own code, when it is called from the same place
/// for the second time. Nothing: nobody may trace here.
template <typename Body>
std::optional<std::uint64_t> instructions(Body body) {
  void* const shared = mmap(nullptr, sizeof(InstructionCount), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& counting = *new (shared) InstructionCount;
  pid_t child = 0;
  bool traced = false;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) traced = begin_counting(counting, &child);
    if (traced) counting.state = InstructionCount::kCounts;
    body();
  }
  counting.state = InstructionCount::kDone;
  while (traced && waitpid(child, nullptr, 0) != child) {
  }
  const std::uint64_t steps = counting.instructions;
  munmap(shared, sizeof(InstructionCount));
  return traced ? std::optional(steps) : std::nullopt;
}

/// Of one call among many: body(times) makes so many.
template <typename Body>
std::optional<std::uint64_t> instructions_each(Body body) {
  constexpr int kFew = 4, kMore = 12;
  const auto few = instructions([&] { body(kFew); }), more = instructions([&] { body(kMore); });
  if (!few || !more) return std::nullopt;
  return (*more - *few) / (kMore - kFew);
}

}  // namespace gpuprof::fakes
