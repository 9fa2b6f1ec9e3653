// SPDX-License-Identifier: Apache-2.0
//
// Finalises processes and windows of a session, also of one whose daemon died.
//
// Context:  cli
// Owns:     nothing
// Promises: the same answer for every command that reads a session
#pragma once

#include <vector>

#include "recording/session/summary.hpp"
#include "recording/spool/spool.hpp"
#include "support/result.hpp"

namespace gpuprof::commands {

/// Leaves in `view` the processes that get files; puts what they did, and what cannot be read, into
/// `summary`. Returns the windows.
///
/// Errors: no process recorded any event.
support::Result<std::vector<model::Window>> resolve_session(spool::SessionView* view,
                                                            recording::Summary* summary);

/// The same where only the windows are wanted: a session that was finalised is not read for it.
support::Result<std::vector<model::Window>> resolved_windows(spool::SessionView* view,
                                                             std::vector<std::string>* missing);

}  // namespace gpuprof::commands
