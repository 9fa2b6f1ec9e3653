// SPDX-License-Identifier: Apache-2.0
//
// The program that answers the "Capture profile" button beside a command of ours.
//
// Context:  cli
// Owns:     gpuprof-serve, a child of ours with a session of its own, and the socket to it
// Promises: it has its port and says so before anything else is started; it ends when we do,
//           however that is; nothing it does changes what the command does
// Not here: what it answers (serve/)
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/io/listen_address.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

class ServeProcess {
 public:
  /// Starts it at `options.serve`.
  ///
  /// @param option     The option that names the address, for sentences.
  /// @param whom       Its words for whose processes it serves.
  /// @param words      Its environment.
  /// Errors: a bad or taken address, one of other machines' without --serve-to-network; it is not
  ///         installed or cannot start.
  static support::Result<std::unique_ptr<ServeProcess>> start(const Options& options,
                                                              const std::string& option,
                                                              const std::vector<std::string>& whom,
                                                              std::vector<std::string> words);
  /// Tells it to end, and ends it if it does not soon.
  ~ServeProcess();
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// Closes when it ends.
  int fd() const { return control_.get(); }
  /// Where it answers: "127.0.0.1:6009".
  const std::string& address() const { return address_; }
  /// The program whose processes it serves, where that was not said at its start.
  void set_program(pid_t program);
  /// The session is over: what it records ends, too.
  void request_exit() { control_.reset(); }
  /// Collects it; waits `timeout_ns` at most for its last answer. Returns a sentence if it had
  /// ended before it was told to.
  std::string wait_for_exit(std::uint64_t timeout_ns);

 private:
  ServeProcess(base::UniqueFd control, pid_t pid, std::string address);
  support::Result<void> wait_until_ready(const std::string& path);

  base::UniqueFd control_;
  pid_t pid_ = 0;
  std::string address_;
};

/// What to record, as words for `gpuprof capture`; -t is not among them.
std::vector<std::string> capture_arguments(const Options& options);

}  // namespace gpuprof::cli
