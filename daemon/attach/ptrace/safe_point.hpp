// SPDX-License-Identifier: Apache-2.0
//
// Whether a stopped thread may call dlopen at its present program counter.
//
// Context:  daemon | cli
// Owns:     the address ranges that matter, found before anything is stopped
// Promises: when in doubt: no
//
// It may not inside the loader, the memory allocator, fork, exit, thread creation (it would meet
// its own locks), in a signal handler (what it interrupted is unknown), or in a restartable
// sequence (which the kernel would no longer abort). Where there is code that keeps something else
// than a stack at its stack pointer, the whole stack must be one that can be followed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/attach/process/process_image.hpp"
#include "daemon/attach/ptrace/unwinder.hpp"

namespace gpuprof::attach {

struct Verdict {
  bool safe = false;
  std::string why;  // for people: "in the memory allocator"
  /// Where it will be safe: the return address out of all that is in the way; 0: not known.
  std::uint64_t exit_address = 0;
};

/// Whether system calls of this thread, ours too, come back to the program as signals (Syscall User
/// Dispatch). False where the kernel does not tell (before Linux 6.4). Of a thread that stands
/// still.
bool uses_syscall_user_dispatch(pid_t tid);

class SafePoint {
 public:
  explicit SafePoint(const ProcessImage& target);

  /// What a walk through this thread's stack will need is opened; the thread may run.
  void prepare(std::uint64_t stack_pointer);
  /// Of a thread that stands still.
  Verdict check(pid_t tid, const arch::Registers& registers);

 private:
  struct Range {
    std::uint64_t start, end;
    const char* what;
  };
  const Range* forbidden_range(std::uint64_t address) const;
  const Range* found_on_stack(std::uint64_t stack_pointer) const;
  bool in_rseq(pid_t tid, std::uint64_t pc) const;
  bool in_c_library(std::uint64_t address) const;
  const char* refusal_by_registers(pid_t tid, const arch::Registers& registers) const;
  void add_functions(const ProcessImage& target);

  std::shared_ptr<ProcessMemory> memory_;
  Maps maps_;
  std::vector<Range> ranges_;   // by start, apart from each other
  std::vector<Range> library_;  // C library and vdso: not outside of a system call
  std::unique_ptr<Unwinder> unwinder_;
  bool fragile_ = false;  // gpuprof/base/red_zone_code.hpp
};

}  // namespace gpuprof::attach
