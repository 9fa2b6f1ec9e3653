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
support::Result<std::vector<std::uint32_t>> processes_by_id(const Options& options,
                                                            const char* command);

/// A process with the library in it.
struct Found : api::ProcessStatus {
  bool named = true;  // by id or name, not only found by --children or --all
};

/// Processes with the library in them that a command line means: one at least.
struct Meant {
  std::vector<Found> found;
  // Those that are there and do not answer, a sentence each:
  std::vector<std::string> left_out;  // found by --children or --all
  std::vector<std::string> nameless;  // may have the name that was asked for
};

/// Processes with the library in them, named by id, by --name or by --all.
///
/// Errors: an id or name that has none, none at all; each says so of those that do not answer.
support::Result<Meant> processes_by_door(const Options& options, const char* command);

/// Who may be missing for want of an answer: a sentence each.
std::vector<std::string> notes_of(const Meant& meant);
/// Says so on stderr.
void tell_notes(const Meant& meant);
/// Who was left out, as one error; none: nobody.
std::optional<support::Error> left_out_of(const Meant& meant);

/// An error if somebody records the process already. Between the windows of a session and after
/// its last one, nobody does.
support::Result<void> not_recorded_now(const api::ProcessStatus& status);

}  // namespace gpuprof::cli
