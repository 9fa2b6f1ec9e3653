// SPDX-License-Identifier: Apache-2.0
//
// Tells a signal sent to our whole process group from one sent to us alone, and wakes us when the
// program that we stopped with goes on without us.
//
// Context:  cli
// Owns:     a helper process in our group (our child, to be collected) and a socket to it, whose
//           closing ends the helper
// Promises: the helper holds no descriptor of the program and never outlives us
// Not here: what is done with signals (program.hpp)
#pragma once

#include <sys/types.h>

#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::cli {

/// kill(2) shows no difference between the two, but a second member of the group sees only the
/// first kind.
class ProcessGroupMonitor {
 public:
  /// Without a helper (no process to be had) every signal counts as sent to us alone.
  ProcessGroupMonitor();
  ~ProcessGroupMonitor();
  ProcessGroupMonitor(const ProcessGroupMonitor&) = delete;
  ProcessGroupMonitor& operator=(const ProcessGroupMonitor&) = delete;

  /// True if the group got `signal` too. Waits a moment for the helper's word, and up to 10 s while
  /// the helper waits for a processor.
  bool was_sent_to_group(int signal);

  /// From now on we may be stopped because `program` is: if it goes on or ends, the helper sends us
  /// CONT. 0: no longer.
  void set_stopped_with(pid_t program);

  /// The helper; 0 or less: there is none.
  pid_t pid() const { return pid_; }

 private:
  void read_reports();
  bool take_report(int signal);

  pid_t pid_ = -1;
  base::UniqueFd socket_;
  unsigned seen_[65] = {};
};

}  // namespace gpuprof::cli
