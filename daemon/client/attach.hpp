// SPDX-License-Identifier: Apache-2.0
//
// Loading the library into a running process, for the CLI.
//
// Context:  cli
// Owns:     nothing
// Not here: how (daemon/attach)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "support/result.hpp"

namespace gpuprof::client {

struct AttachRequest {
  pid_t pid = 0;
  std::string library;   // path of libgpuprof_inject.so
  std::string argument;  // for its gpuprof_attach; no NUL, below 3 KB
  bool ignore_seccomp = false;
  std::uint64_t deadline_ns = 3'000'000'000;
};

struct AttachResult {
  std::uint64_t pause_ns = 0, total_ns = 0;  // one thread stood still; all of it
  pid_t tid = 0;                             // that thread
  bool stepped_out = false, was_loaded = false;
  int answer = 0;  // of gpuprof_attach
  std::uint32_t tries = 0;
  std::uint32_t program = 0;  // support::exec_fingerprint() of what it was loaded into
};

/// Errors: one sentence each, see daemon/attach/inject.hpp.
support::Result<AttachResult> attach(const AttachRequest& request);

/// Whether the library is mapped there, awake or not.
bool has_library(pid_t pid);

/// The checks alone: nothing is stopped.
support::Result<void> may_attach(pid_t pid, bool ignore_seccomp);

}  // namespace gpuprof::client
