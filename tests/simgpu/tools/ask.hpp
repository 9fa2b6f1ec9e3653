// SPDX-License-Identifier: Apache-2.0
//
// Starts a helper program and reads what it prints.
//
// Context:  tools
// Owns:     the child, until it has ended
// Promises: the child has no LD_PRELOAD: neither a profiler nor a fake is in it; it is killed
//           after ten seconds
#pragma once

#include <string>
#include <vector>

namespace gpusim {

/// What the program printed to stdout; empty if it failed or could not be started.
std::string run_helper(const std::vector<std::string>& command);

}  // namespace gpusim
