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
struct SessionOutcome {
  recording::Summary summary;
  bool failed = false;  // we did not do what was asked: counts with --strict
  bool has_summary = false;
  bool daemon_abandoned = false;  // the daemon goes on without us
};

class DaemonSession {
 public:
  /// What is not the daemon's business.
  struct Setup {
    std::string output_folder;
    bool quiet = false, verbose = false;
  };

  /// Starts the daemon, or connects to the one that listens, and opens the session.
  static support::Result<std::unique_ptr<DaemonSession>> open(
      const Installation& installation, std::vector<std::string> environment,
      const recording::SessionOptions& options, const Setup& setup);
  /// Collects the daemon if it is our child and has ended.
  ~DaemonSession();
  DaemonSession(const DaemonSession&) = delete;
  DaemonSession& operator=(const DaemonSession&) = delete;

  const std::string& address() const { return ready_.address; }
  int fd() const { return closed_ ? -1 : client_.fd(); }
  /// The daemon, if it is a child of ours; else 0.
  pid_t daemon_child_pid() const { return child_; }

  void command_started(std::uint32_t pid);
  /// What the daemon says while the program runs.
  void handle_message();
  /// Tells the end and waits for the files.
  ///
  /// @param interrupts  How often the user has tried to end us since the last call; at the second
  ///                    one we stop waiting.
  SessionOutcome finish(int wait_status, const std::function<int()>& interrupts);

  /// Has a running process recorded.
  ///
  /// @param control_socket  As daemon/control found it.
  /// @param named           It gets a file whatever it does.
  /// @param then_detach     It detaches afterwards.
  void add_process(const control::ControlSocket& control_socket, bool named, bool then_detach);
  /// Of running processes: waits until the schedule is over and the files are written.
  ///
  /// @param interrupts  As for finish(); the first one ends the recording.
  /// @param line        Shows how far it is.
  SessionOutcome wait_until_recorded(const std::function<int()>& interrupts,
                                     support::ProgressLine& line);

  /// The program could not be started: nothing is written.
  void cancel();

 private:
  explicit DaemonSession(client::Client client) : client_(std::move(client)) {}
  bool wait_for_summary(SessionOutcome* outcome, const std::function<int()>& interrupts,
                        support::ProgressLine& line);
  void abandon_daemon(SessionOutcome* outcome, DaemonWatchdog::State state);
  void recover(SessionOutcome* outcome);
  SessionOutcome conclude(SessionOutcome outcome);
  std::string find_spool_folder() const;

  client::Client client_;
  client::SessionInfo ready_;
  Setup setup_;
  pid_t child_ = 0;
  std::optional<recording::Summary> early_summary_;  // came while the program ran
  std::vector<std::string> failures_;
  std::string daemon_lost_reason_;
  bool closed_ = false, daemon_lost_ = false, left_behind_ = false;
  bool attached_ = false;  // no program of ours: the schedule ends the session
};

}  // namespace gpuprof::cli
