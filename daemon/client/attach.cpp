// SPDX-License-Identifier: Apache-2.0
//
// Loading the library into a running process, for the CLI.
//
// Context:  cli
#include "daemon/client/attach.hpp"

#include "daemon/attach/inject.hpp"
#include "daemon/attach/process/checks.hpp"
#include "daemon/attach/process/library_file.hpp"

namespace gpuprof::client {

support::Result<AttachResult> attach(const AttachRequest& request) {
  gpuprof::attach::InjectRequest wanted;
  wanted.pid = request.pid;
  wanted.library = request.library;
  wanted.argument = request.argument;
  wanted.ignore_seccomp = request.ignore_seccomp;
  wanted.deadline_ns = request.deadline_ns;
  GPUPROF_TRY(done, gpuprof::attach::inject(wanted));
  return AttachResult{done.pause_ns,   done.total_ns, done.tid,   done.stepped_out,
                      done.was_loaded, done.answer,   done.tries, done.program};
}

bool has_library(pid_t pid) { return gpuprof::attach::has_library(pid); }

support::Result<void> may_attach(pid_t pid, bool ignore_seccomp) {
  return gpuprof::attach::may_attach(pid, ignore_seccomp);
}

}  // namespace gpuprof::client
