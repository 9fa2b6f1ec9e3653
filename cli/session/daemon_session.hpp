// SPDX-License-Identifier: Apache-2.0
//
// The daemon's part of a run: opened before the program, closed after it, with what came of it.
//
// Context:  cli
// Owns:     the connection to the daemon; a private one, until collected
// Promises: a daemon that fails costs the trace, never the program; what it had written by then
//           is exported by us
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/session/daemon_watchdog.hpp"
#include "cli/target/installation.hpp"
#include "daemon/client/client.hpp"
#include "daemon/control/control_sockets.hpp"
#include "recording/session/summary.hpp"
#include "support/io/progress_line.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// How a session ended.
struct Outcome {
  api::Summary summary;
  bool failed = false;  // we did not do what was asked: counts with --strict
  bool summary_came = false;
  bool left_behind = false;  // the daemon goes on without us
};

class RunSession {
 public:
  /// What is not the daemon's business.
  struct Setup {
    std::string output_folder;
    bool quiet = false, verbose = false;
  };

  /// Starts the daemon, or connects to the one that listens, and opens the session.
  static support::Result<std::unique_ptr<RunSession>> open(const Installation& installation,
                                                           std::vector<std::string> environment,
                                                           const api::SessionOptions& options,
                                                           const Setup& setup);
  /// Collects the daemon if it is our child and has ended.
  ~RunSession();
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;

  const std::string& address() const { return ready_.address; }
  int fd() const { return closed_ ? -1 : client_.fd(); }
  /// The daemon, if it is a child of ours; else 0.
  pid_t child() const { return child_; }

  void command_started(std::uint32_t pid);
  /// What the daemon says while the program runs.
  void listen();
  /// Tells the end and waits for the files.
  ///
  /// @param interrupts  How often the user has tried to end us since the last call; at the second
  ///                    one we stop waiting.
  Outcome finish(int wait_status, const std::function<int()>& interrupts);

  /// Has a running process recorded.
  ///
  /// @param door         As daemon/control found it.
  /// @param named        It gets a file whatever it does.
  /// @param then_detach  It lets go of everything afterwards.
  void capture(const api::Door& door, bool named, bool then_detach);
  /// Of running processes: waits until the schedule is over and the files are written.
  ///
  /// @param interrupts  As for finish(); the first one ends the recording.
  /// @param line        Shows how far it is.
  Outcome record(const std::function<int()>& interrupts, support::ProgressLine& line);

  /// The program could not be started: nothing is written.
  void abandon();

 private:
  explicit RunSession(api::Client client) : client_(std::move(client)) {}
  bool wait_for_summary(Outcome* outcome, const std::function<int()>& interrupts,
                        support::ProgressLine& line);
  void leave_behind(Outcome* outcome, DaemonPulse::State state);
  void recover(Outcome* outcome);
  Outcome conclude(Outcome outcome);
  std::string kept_spool() const;

  api::Client client_;
  api::Ready ready_;
  Setup setup_;
  pid_t child_ = 0;
  std::optional<api::Summary> early_;  // came while the program ran
  std::vector<std::string> failures_;
  std::string lost_why_;
  bool closed_ = false, lost_ = false, left_behind_ = false;
  bool of_running_ = false;  // no program of ours: the schedule ends the session
};

}  // namespace gpuprof::cli
