// SPDX-License-Identifier: Apache-2.0
//
// Whether a process can be attached to, from what /proc says: a sentence for each reason why not.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: nothing is stopped; may_attach (inject.hpp) is made of these
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/attach/process/maps.hpp"

namespace gpuprof::attach {

/// Of /proc/PID/status.
struct ProcStatus {
  bool there = false;
  std::string name;
  char state = '?';
  pid_t process = 0;  // Tgid: another number is a thread's
  pid_t parent = 0;
  pid_t tracer = 0;       // 0: none
  int seccomp = 0;        // 0 none, 1 strict, 2 a filter
  bool kernel = false;    // a kernel thread
  bool ending = false;    // its memory is gone already
  bool headless = false;  // its main thread has ended, others have not been collected: as ending
  bool shadow_stack = false;
  unsigned real_uid = 0, effective_uid = 0, saved_uid = 0;
  std::uint64_t blocked = 0, caught = 0, pending = 0;  // signals, bit 0 is signal 1
  std::string inner_pid;                               // in its own pid namespace
};
ProcStatus parse_status(std::string_view text);
ProcStatus read_status(pid_t pid);
/// A process that is about to end is not taken for one that has lost its main thread only: waits
/// for the end, 0.1 s at most.
ProcStatus stable_status(pid_t pid);

/// Why a process with this status is refused; "" if it is not. `tracer` is the status of the thread
/// that traces it, if one does.
std::string refusal_by_status(pid_t pid, const ProcStatus& status, const ProcStatus& tracer,
                              bool ignore_seccomp);

/// Why its image is refused: 32-bit, static, another C library; "" if it is not.
/// @param elf_class EI_CLASS of its program, 0 if that cannot be read.
std::string refusal_by_image(pid_t pid, const Maps& maps, int elf_class);

/// What is known when the kernel forbids to look into a process.
struct PtraceDenial {
  int error = 0;             // errno
  unsigned own_uid = 0;      // effective
  bool other_user = false;   // any of its user numbers differs
  bool own_by_root = false;  // /proc/PID belongs to root, the process does not: not dumpable
  int yama = 0;              // ptrace_scope, 0 where there is no Yama
};
std::string denial_message(pid_t pid, const PtraceDenial& denied);
/// Gathers that for a process that cannot be traced (`error`: errno).
PtraceDenial inspect_denial(pid_t pid, int error);

}  // namespace gpuprof::attach
