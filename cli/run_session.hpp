// SPDX-License-Identifier: Apache-2.0
//
// The daemon's part of a run: opened before the program, closed after it, with what came of it.
//
// Context:  cli
// Owns:     the connection to the private daemon
// Promises: a daemon that fails costs the trace, never the program; what it had written by then
//           is exported by us
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/api/client.hpp"
#include "daemon/api/summary.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// How a session ended.
struct Outcome {
  api::Summary summary;
  bool failed = false;  // we did not do what was asked: counts with --strict
};

class RunSession {
 public:
  /// Starts the daemon and opens the session.
  static support::Result<std::unique_ptr<RunSession>> open(const std::string& daemon,
                                                           std::vector<std::string> environment,
                                                           const api::SessionOptions& options,
                                                           const std::string& output_folder,
                                                           bool verbose);

  const std::string& address() const { return ready_.address; }
  int fd() const { return lost_ ? -1 : client_.fd(); }

  void command_started(std::uint32_t pid);
  /// What the daemon says while the program runs.
  void listen();
  /// True once the daemon is gone.
  bool lost() const { return lost_; }

  /// Tells the end and waits for the files.
  ///
  /// @param interrupts  How often the user has tried to end us since the last call; at the second
  ///                    one we stop waiting.
  Outcome finish(int wait_status, const std::function<int()>& interrupts);

  /// The program could not be started: nothing is written.
  void abandon();

 private:
  explicit RunSession(api::Client client) : client_(std::move(client)) {}
  bool wait_for_summary(Outcome* outcome, const std::function<int()>& interrupts);
  void recover(Outcome* outcome);
  std::string kept_spool() const;

  api::Client client_;
  api::Ready ready_;
  std::string output_folder_;
  std::vector<std::string> failures_;
  std::string lost_why_;
  bool lost_ = false;
};

}  // namespace gpuprof::cli
