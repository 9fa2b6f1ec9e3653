// SPDX-License-Identifier: Apache-2.0
//
// Starts the private gpuprofd of one run, or connects to one that listens.
//
// Context:  cli
#include "cli/session/daemon_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

#include "cli/messages/session_daemon.hpp"
#include "support/io/files.hpp"
#include "support/io/unix_socket.hpp"
#include "support/messages/process.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {

namespace {
constexpr std::size_t kMaxAddress = 107;
}

support::Result<DaemonProcess> start_daemon(const std::string& daemon,
                                            std::vector<std::string> environment, bool verbose) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return support::error(fmt::format(messages::session_daemon::kNoSocket, strerror(errno)));
  }
  base::UniqueFd ours(ends[0]), theirs(ends[1]);
  const base::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null)
    return support::error(fmt::format(messages::process::kCannotOpenNull, strerror(errno)));
  constexpr int kControl = 3;
  support::LaunchOptions launch;
  launch.path = daemon;
  launch.arguments = {daemon, "--control-fd", std::to_string(kControl)};
  if (verbose) launch.arguments.insert(launch.arguments.end(), {"--log", "-"});
  launch.environment = std::move(environment);
  launch.descriptors = {{0, null.get()},
                        {1, null.get()},
                        {2, verbose ? STDERR_FILENO : null.get()},
                        {kControl, theirs.get()}};
  launch.pre_exec = [](support::LaunchOptions&) {
    // A session of its own: what the terminal sends to us is not for it.
    setsid();
    // What the user's shell left open is not the daemon's to keep open.
    syscall(SYS_close_range, kControl + 1U, ~0U, CLOSE_RANGE_CLOEXEC);
  };
  auto started = support::launch_process(std::move(launch));
  if (!started) {
    return support::error(
        fmt::format(messages::session_daemon::kCannotStart, started.error().message));
  }
  return DaemonProcess{std::move(ours), started.value()};
}

support::Result<DaemonProcess> connect_daemon(const std::string& address) {
  if (address.size() < 2 || address.size() > kMaxAddress) {
    return support::error(
        fmt::format(messages::session_daemon::kAddressLength, support::in_quotes(address)));
  }
  base::UniqueFd socket = support::connect_unix_socket(address, 0);
  if (!socket) {
    const int failure = errno;
    const std::string name = support::in_quotes(address), why = strerror(failure);
    return support::error(failure == EACCES || failure == EPERM
                              ? fmt::format(messages::session_daemon::kOfAnotherUser, name, why)
                              : fmt::format(messages::session_daemon::kCannotConnect, name, why));
  }
  return DaemonProcess{std::move(socket), 0};
}

}  // namespace gpuprof::cli
