// SPDX-License-Identifier: Apache-2.0
//
// Starts the private gpuprofd of one run, or connects to one that listens.
//
// Context:  cli
// Owns:     nothing once connected: the daemon has a session of its own and ends by itself; who
//           started it collects it
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "gpuprof/base/unique_fd.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

struct DaemonProcess {
  base::UniqueFd socket;  // our end of the connection
  pid_t pid = 0;          // our child; 0: it was there before
};

/// Starts `daemon`.
///
/// @param verbose  Its log goes to our stderr; otherwise nowhere.
support::Result<DaemonProcess> start_daemon(const std::string& daemon,
                                            std::vector<std::string> environment, bool verbose);

/// Connects to the daemon that listens at `address`, a path or @NAME.
support::Result<DaemonProcess> connect_daemon(const std::string& address);

}  // namespace gpuprof::cli
