// SPDX-License-Identifier: Apache-2.0
//
// Which running processes a command line means.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "daemon/control/control_sockets.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// The processes named by id, in order, each once; with --children those below them, too.
///
/// Errors: a word that is no id, none at all.
support::Result<std::vector<std::uint32_t>> select_pids(const Options& options,
                                                        const char* command);

/// A process with the library in it.
struct SelectedProcess : control::TargetStatus {
  bool named = true;  // by id or name, not only found by --children or --all
};

/// Processes with the library in them that a command line means: one at least.
struct ProcessSelection {
  std::vector<SelectedProcess> selected;
  // Those that are there and do not answer, a sentence each:
  std::vector<std::string> unresponsive;  // found by --children or --all
  std::vector<std::string> maybe_named;   // may have the name that was asked for
};

/// Processes with the library in them, named by id, by --name or by --all.
///
/// Errors: an id or name that has none, none at all; each says so of those that do not answer.
support::Result<ProcessSelection> select_processes(const Options& options, const char* command);

/// Who may be missing for want of an answer: a sentence each.
std::vector<std::string> selection_notes(const ProcessSelection& meant);
/// Says so on stderr.
void print_selection_notes(const ProcessSelection& meant);
/// Who was left out, as one error; none: nobody.
std::optional<support::Error> unresponsive_error(const ProcessSelection& meant);

/// An error if somebody records the process already. Between the windows of a session and after
/// its last one, nobody does.
support::Result<void> check_not_recording(const control::TargetStatus& status);

}  // namespace gpuprof::cli
