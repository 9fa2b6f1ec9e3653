// SPDX-License-Identifier: Apache-2.0
//
// One recording of processes that run already: session, output, interrupts, summary.
//
// Context:  cli
// Owns:     the daemon's session and the place of the files; handlers of INT, TERM and HUP
// Promises: nothing is asked of a process before the place of the files is known to be writable;
//           no file is said, and is a failure
// Not here: which processes, and how the library got into them
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "cli/output/output_location.hpp"
#include "cli/session/daemon_session.hpp"
#include "cli/target/installation.hpp"
#include "daemon/control/control_sockets.hpp"
#include "support/io/progress_line.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

class CaptureSession {
 public:
  /// Settles the schedule (5 s where none is given) and opens the session.
  static support::Result<std::unique_ptr<CaptureSession>> open(Options& options);
  ~CaptureSession();
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  const Installation& installation() const { return installation_; }

  /// Has a process recorded.
  ///
  /// @param named        It gets a file whatever it does.
  /// @param then_detach  It detaches afterwards.
  void add(const control::ControlSocket& control_socket, bool named, bool then_detach);
  /// The user has tried to end us already.
  bool interrupted() const;
  /// Where we are, on a terminal only.
  void show_stage(const std::string& stage) { line_->show_stage(stage); }
  /// A sentence for the summary.
  void add_note(const std::string& message) { remarks_.push_back(message); }
  /// One that counts: also with --quiet, and in the exit status.
  void add_failure(const std::string& message) { failures_.push_back(message); }

  /// Waits for the end, prints paths (stdout) and summary (stderr). Returns the exit status.
  support::Result<int> finish(const Options& options);
  /// Nothing was asked of any process: as if it had not been opened.
  void cancel();
  /// The sentence for that.
  static support::Error interrupted_error();

 private:
  CaptureSession() = default;
  void wait_for_detached(recording::Summary& summary);

  Installation installation_;
  OutputLocation place_;
  std::unique_ptr<DaemonSession> session_;
  std::unique_ptr<support::ProgressLine> line_;
  std::vector<control::ControlSocket> to_detach_;
  std::vector<std::string> remarks_, failures_;
};

}  // namespace gpuprof::cli
