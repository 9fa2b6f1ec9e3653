// SPDX-License-Identifier: Apache-2.0
//
// Which running processes a command line means.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <vector>

#include "cli/options/options.hpp"
#include "daemon/api/doors/doors.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// The processes named by id, in order, each once; with --children those below them, too.
///
/// Errors: a word that is no id, none at all.
support::Result<std::vector<std::uint32_t>> processes_by_id(const Options& options,
                                                            const char* command);

/// A process with the library in it.
struct Found : api::ProcessStatus {
  bool named = true;  // by id or name, not only found by --children or --all
};

/// Processes with the library in them, named by id, by --name or by --all.
///
/// Errors: an id or name that has none, none at all.
support::Result<std::vector<Found>> processes_by_door(const Options& options, const char* command);

/// An error if somebody records the process already. Between the windows of a session and after
/// its last one, nobody does.
support::Result<void> not_recorded_now(const api::ProcessStatus& status);

}  // namespace gpuprof::cli
