// SPDX-License-Identifier: Apache-2.0
//
// Starts the private gpuprofd of one run.
//
// Context:  cli
#include "cli/daemon_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "support/child.hpp"

namespace gpuprof::cli {

support::Result<base::UniqueFd> start_daemon(const std::string& daemon,
                                             std::vector<std::string> environment, bool verbose) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return support::error(fmt::format("cannot make a socket: {}", strerror(errno)));
  }
  base::UniqueFd ours(ends[0]), theirs(ends[1]);
  const base::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return support::error(fmt::format("cannot open /dev/null: {}", strerror(errno)));
  constexpr int kControl = 3;
  support::Launch launch;
  launch.path = daemon;
  launch.arguments = {daemon, "--control-fd", std::to_string(kControl)};
  if (verbose) launch.arguments.insert(launch.arguments.end(), {"--log", "-"});
  launch.environment = std::move(environment);
  launch.descriptors = {{0, null.get()},
                        {1, null.get()},
                        {2, verbose ? STDERR_FILENO : null.get()},
                        {kControl, theirs.get()}};
  launch.detached = true;
  launch.in_child = [](support::Launch&) {
    // What the user's shell left open is not the daemon's to keep open.
    syscall(SYS_close_range, kControl + 1U, ~0U, CLOSE_RANGE_CLOEXEC);
  };
  auto started = support::start(std::move(launch));
  if (!started) {
    return support::error("the daemon cannot be started: " + started.error().sentence);
  }
  return ours;
}

}  // namespace gpuprof::cli
