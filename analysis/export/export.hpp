// SPDX-License-Identifier: Apache-2.0
//
// From a session's spool to files a viewer opens.
//
// Context:  daemon (export thread) or cli (gpuprof export) through analysis/commands
// Owns:     temporary files, until renamed
// Promises: a file appears whole under its final name or not at all; all files of one window
//           appear together; memory does not grow with the number of events
// Not here: the formats themselves (registry.hpp, tensorboard/, perfetto/, …)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/export/prescan/file_request.hpp"
#include "recording/session/summary.hpp"
#include "support/result.hpp"

namespace gpuprof::exporter {

/// How much of a job is done: never less than before, the whole at the end.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Writes the files of one window for the given processes in every format of the options:
/// all to temporary names beside the target, then renamed together.
///
/// Errors: existing files without --force, unwritable folder, full disk: one sentence; what was
/// already complete stays in the spool.
support::Result<std::vector<WrittenFile>> write_window(const spool::SessionView& session,
                                                       const model::Window& window,
                                                       const std::vector<std::uint32_t>& pids,
                                                       const Progress& progress);

/// Events that one reading of a window goes over: how much work its files are beside others'.
std::uint64_t count_window_events(const spool::SessionView& session, const model::Window& window,
                                  const std::vector<std::uint32_t>& pids);

/// Whole-run sessions: cuts the processes' events into windows of options.span_size_events.
support::Result<std::vector<model::Window>> split_by_event_count(
    const spool::SessionView& session, const std::vector<std::uint32_t>& pids);

/// Adds a sentence about what is missing from one file to those about all: the same is said once,
/// and numbers at the beginning of sentences that agree otherwise are added up.
void merge_message(std::vector<std::string>& all, const std::string& message);

/// How to open what was written: a line for each viewer.
///
/// @param output The folder the files lie in; empty: a pattern said where each does.
std::vector<std::string> viewer_instructions(const std::vector<recording::SummaryFile>& files,
                                             const std::string& output);

/// Names --format accepts, for help and validation.
std::vector<std::string> format_names();
/// Their names and what each is for, in words that follow "for".
std::vector<std::pair<std::string, std::string>> format_descriptions();
/// What names of their files end in, compressed or not: a value of -o that does is a pattern.
std::vector<std::string> format_suffixes();
/// The first format whose files end as this name does; empty: none.
std::string_view format_for_suffix(std::string_view name);

/// Replaces %h %p %n %r %q{ENV} %% in a pattern.
support::Result<std::string> expand_pattern(const std::string& pattern, const std::string& host,
                                            std::uint32_t pid, std::uint32_t span,
                                            const std::string& rank);

}  // namespace gpuprof::exporter
