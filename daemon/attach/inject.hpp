// SPDX-License-Identifier: Apache-2.0
//
// Loads libgpuprof_inject.so into a running process and calls its gpuprof_attach.
//
// Context:  daemon | cli
// Owns:     nothing beyond the call
// Promises: one thread of the process is stopped, the others go on; whatever happens to us, also
//           SIGKILL, the process goes on as if it had not been stopped (docs/attach.md names the
//           moments in which that is not so); every failure is one sentence
// Not here: what the library does then (inject/entry/attach.cpp), the command
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "daemon/attach/ptrace/phases.hpp"
#include "support/result.hpp"

namespace gpuprof::attach {

/// What a user waits for an attach at most.
constexpr std::uint64_t kAttachTimeoutNs = 3'000'000'000;

struct InjectRequest {
  pid_t pid = 0;
  std::string library;          // path of libgpuprof_inject.so
  std::string argument;         // for gpuprof_attach: no NUL, below 3 KB
  bool ignore_seccomp = false;  // the process has a filter of system calls: try nevertheless
  std::uint64_t deadline_ns = kAttachTimeoutNs;
  std::function<void(Phase)> at_phase;  // for tests: called on the tracing thread
};

struct InjectResult {
  std::uint64_t pause_ns = 0;  // how long the thread was not the program's
  std::uint64_t total_ns = 0;
  pid_t tid = 0;              // the thread that was used
  bool stepped_out = false;   // it had to be let run to a safe place first
  bool was_loaded = false;    // the library was there; only its function was called
  int answer = 0;             // what gpuprof_attach returned
  std::uint32_t tries = 0;    // threads stopped until one stood at a safe place
  std::uint32_t program = 0;  // support::exec_fingerprint() of what it was loaded into
};

/// Takes at most `deadline_ns` (longer where a thread gets no processor and a breakpoint must be
/// taken back from it), from any thread (the tracing is done by one of its own).
///
/// Errors: everything may_attach refuses; no thread at a safe place; a loader that loads the
/// program's libraries all the time; the loader's own message (dlerror); a deadline that passed,
/// after which the process ends the call alone.
support::Result<InjectResult> inject(const InjectRequest& request);

/// Whether inject() would try: reads /proc only, stops nothing. One that is being started by its
/// loader is waited for until CLOCK_MONOTONIC reads `until_ns`, or for kAttachTimeoutNs.
support::Result<void> may_attach(pid_t pid, bool ignore_seccomp, std::uint64_t until_ns);
support::Result<void> may_attach(pid_t pid, bool ignore_seccomp);

}  // namespace gpuprof::attach
