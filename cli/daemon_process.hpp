// SPDX-License-Identifier: Apache-2.0
//
// Starts the private gpuprofd of one run.
//
// Context:  cli
// Owns:     nothing once connected: the daemon has a session of its own and ends by itself
#pragma once

#include <string>
#include <vector>

#include "gpuprof/base/unique_fd.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// Starts `daemon` and returns our end of the socket to it.
///
/// @param verbose  Its log goes to our stderr; otherwise nowhere.
support::Result<base::UniqueFd> start_daemon(const std::string& daemon,
                                             std::vector<std::string> environment, bool verbose);

}  // namespace gpuprof::cli
