// SPDX-License-Identifier: Apache-2.0
//
// The CLI's end of the socket to a daemon: opens a session, tells what the command does, hears
// progress and the summary.
//
// Context:  cli
// Owns:     the connected socket
// Promises: a daemon that is gone or talks nonsense is an Error or kClosed, never a signal or an
//           endless wait; nothing is printed
// Not here: starting the daemon (cli/session/daemon_process)
#pragma once

#include <cstdint>
#include <string>

#include "daemon/messages/client.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "recording/session/session_options.hpp"
#include "recording/session/summary.hpp"
#include "support/result.hpp"

namespace gpuprof::client {

/// The text of kClosed if the daemon is simply gone.
using messages::client::kEndedUnexpectedly;

/// A session that waits for its command.
struct SessionInfo {
  std::uint64_t session = 0;
  std::uint32_t daemon_pid = 0;
  std::string address;  // for GPUPROF_SOCKET, without the pid
};

/// What the daemon said.
struct DaemonMessage {
  enum class Kind { kNothing, kProgress, kSummary, kFailure, kClosed };
  Kind kind = Kind::kNothing;
  std::uint64_t done = 0, total = 0;  // kProgress
  std::string text;                   // kProgress: line; kFailure, kClosed: sentence
  recording::Summary summary;         // kSummary
};

class Client {
 public:
  explicit Client(base::UniqueFd socket);

  /// Opens the session; waits at most `timeout_ns` for the answer.
  ///
  /// Errors: the daemon's own sentence, no answer in time, another version.
  support::Result<SessionInfo> open(const recording::SessionOptions& options,
                                    std::uint64_t timeout_ns);

  // False: the daemon is gone; receive() says why.
  bool command_started(std::uint32_t pid);
  bool command_ended(int wait_status);
  bool end_session();
  /// Has a running process recorded, too.
  /// @param control_socket  As daemon/control found it.
  /// @param program  support::exec_fingerprint() of the one it belongs to; 0: what runs there.
  bool join_process(std::uint32_t pid, const std::string& control_socket, bool named,
                    bool then_detach, std::uint32_t program = 0);
  /// No more processes will be joined: from now on the session may end with them.
  bool joins_complete();

  /// The next thing the daemon says; kNothing after `timeout_ns`. Parts of a summary are joined.
  DaemonMessage receive(std::uint64_t timeout_ns);

  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

 private:
  template <typename M>
  bool send(const M& body, const std::string& tail);
  DaemonMessage receive_one();
  DaemonMessage closed(const std::string& why);

  base::UniqueFd socket_;
  std::string summary_text_;
  SessionInfo ready_;
};

}  // namespace gpuprof::client
