// SPDX-License-Identifier: Apache-2.0
//
// The search for a thread at a safe place, and what is done with it.
//
// Context:  construction anywhere, run() on a thread of its own: its end lets go of whatever thread
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

class Attempt {
 public:
  Attempt(const Request& request, const LibraryFile& library, const Target& target,
          std::uint64_t begun_ns);

  support::Result<Injected> run();
  /// The process has started another program since `target` was made: it is worth looking again.
  bool is_another_program() const { return another_program_; }

 private:
  bool rounds(bool spare);
  bool search(bool may_step_out, bool spare);
  bool one_goes_on(std::uint64_t until_ns);
  bool loader_ends();
  void let_go_of_held();
  bool one_thread(pid_t tid, bool may_step_out);
  bool one_seized(Tracee& tracee, bool may_step_out);
  bool waits_for_child(pid_t tid) const;
  bool stops(Tracee& tracee);
  bool same_program();
  bool keeps_its_calls(const Tracee& tracee);
  Verdict judge(const Tracee& tracee);
  bool inject(Tracee& tracee, std::uint64_t paused_ns);
  void passed(Step step) const;
  support::Error cannot_trace() const;
  support::Error no_thread() const;

  const Request& request_;
  const LibraryFile& library_;
  const Target& target_;
  const std::uint64_t until_ns_;
  LibraryCopy copy_;
  std::string path_;  // of the copy, where it has to be a file
  SafePoint safe_point_;
  Transfers transfers_;
  Injected done_;
  int failure_ = 0;                                   // errno of the last seize
  bool another_program_ = false, holds_one_ = false;  // a thread that is ours, and does not stop
  std::set<pid_t> spared_;                            // amid a transfer, left alone
  std::list<Tracee> held_;                            // told to stop, and do not yet
  std::string why_;  // the last one was not used; "" if none was looked at
  std::optional<support::Result<Injected>> result_;
};

}  // namespace gpuprof::attach
