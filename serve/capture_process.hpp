// SPDX-License-Identifier: Apache-2.0
//
// A command started from a process with many threads.
//
// Context:  serve
// Owns:     the child, until it is collected; destroying it early kills it
// Promises: between fork and exec only what is allowed there (support/process/subprocess.hpp does
//           more and wants a process with one thread); the child has a session of its own,
//           /dev/null for its standard descriptors but stderr, and is interrupted when we are
//           killed
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gpuprof/base/unique_fd.hpp"
#include "support/result.hpp"

namespace gpuprof::serve {

class CaptureProcess {
 public:
  /// @param words  The file to execute, and its arguments.
  /// @param kept   A descriptor it keeps open, unused; -1: none.
  static support::Result<CaptureProcess> start(const std::vector<std::string>& words, int kept);
  CaptureProcess(CaptureProcess&& other) noexcept;
  CaptureProcess& operator=(CaptureProcess&&) = delete;
  ~CaptureProcess();

  /// True once it has ended; waits at most `timeout_ns`.
  bool wait_until_ended(std::uint64_t timeout_ns);
  /// As waitpid says; of an ended one.
  int wait_status() const { return wait_status_; }
  void interrupt();
  /// What it wrote to stderr so far, at most 64 KiB of it.
  const std::string& stderr_text();

 private:
  CaptureProcess(pid_t pid, base::UniqueFd stderr_text);
  void read_errors();

  pid_t pid_;
  base::UniqueFd error_pipe_;
  std::string errors_;
  int wait_status_ = 0;
  bool ended_ = false;
};

}  // namespace gpuprof::serve
