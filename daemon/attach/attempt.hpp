// SPDX-License-Identifier: Apache-2.0
//
// The search for a thread at a safe place, and what is done with it.
//
// Context:  construction anywhere, run() on a thread of its own: its end releases whatever thread
//           of the process could not be stopped in time
// Owns:     what is known of safe places, the copy of the library
// Promises: a thread that is looked at and not used goes on at once
#pragma once

#include <list>
#include <optional>
#include <set>
#include <string>

#include "daemon/attach/inject.hpp"
#include "daemon/attach/library_copy.hpp"
#include "daemon/attach/process/library_file.hpp"
#include "daemon/attach/process/process_image.hpp"
#include "daemon/attach/process/transfer_tracker.hpp"
#include "daemon/attach/ptrace/safe_point.hpp"
#include "daemon/attach/ptrace/tracee.hpp"

namespace gpuprof::attach {

class InjectionAttempt {
 public:
  InjectionAttempt(const InjectRequest& request, const LibraryFile& library,
                   const ProcessImage& target, std::uint64_t begun_ns);

  support::Result<InjectResult> run();
  /// The process has started another program since `target` was made: it is worth looking again.
  bool is_another_program() const { return another_program_; }

 private:
  bool search_rounds(bool spare);
  bool search(bool may_step_out, bool spare);
  bool wait_for_transfer_end(std::uint64_t until_ns);
  bool wait_for_loader();
  void detach_stopped();
  bool try_thread(pid_t tid, bool may_step_out);
  bool try_seized(Tracee& tracee, bool may_step_out);
  bool waits_for_child(pid_t tid) const;
  bool wait_until_stopped(Tracee& tracee);
  bool same_program();
  bool dispatches_syscalls(const Tracee& tracee);
  Verdict judge(const Tracee& tracee);
  bool inject(Tracee& tracee, std::uint64_t paused_ns);
  void report_phase(Phase step) const;
  support::Error cannot_trace() const;
  support::Error no_thread() const;

  const InjectRequest& request_;
  const LibraryFile& library_;
  const ProcessImage& target_;
  const std::uint64_t until_ns_;
  LibraryCopy copy_;
  std::string path_;  // of the copy, where it has to be a file
  SafePoint safe_point_;
  TransferTracker transfers_;
  InjectResult done_;
  int failure_ = 0;  // errno of the last seize
  bool another_program_ = false,
       has_unstopped_ = false;  // a thread that is ours, and does not stop
  std::set<pid_t> skipped_;     // amid a transfer, left alone
  std::list<Tracee> seized_;    // told to stop, and do not yet
  std::string why_;             // the last one was not used; "" if none was looked at
  std::optional<support::Result<InjectResult>> result_;
};

}  // namespace gpuprof::attach
