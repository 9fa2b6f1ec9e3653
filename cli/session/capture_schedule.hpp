// SPDX-License-Identifier: Apache-2.0
//
// The schedule of a recording of processes that run already.
//
// Context:  cli; pure
// Owns:     nothing
#pragma once

#include "cli/options/options.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// One window, of 5 s unless a length is given: nobody waits here for the program's end.
support::Result<void> resolve_capture_schedule(Options& options);

}  // namespace gpuprof::cli
