// SPDX-License-Identifier: Apache-2.0
//
// What every format does alike: read a process's spool, say what the file holds.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing
// Not here: the second pass of the JSON files (tensorboard_writer.cpp), of all others
// (event_resolver.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/labels/stack_formatter.hpp"
#include "analysis/export/prescan/file_request.hpp"
#include "analysis/export/prescan/prescan.hpp"

namespace gpuprof::exporter {

/// Whether the process said that its GPU is a simulated one.
bool is_simulated(const Survey& survey);

/// One pass over the part of the spool that may hold events of the window.
support::Result<spool::ReplayEnd> read_events(const FileRequest& request, model::EventSink& sink);
/// Instead of a pass that a file can do without: progress counts it as done.
void skip_events(const FileRequest& request);
/// Events that a pass reads; 0 where the spool cannot be read.
std::uint64_t events_of_pass(const spool::ProcessEntry& process, const model::Window& window);

/// The first pass. Errors: a spool that cannot be read.
support::Result<void> survey_process(const FileRequest& request, Survey& survey, StackText& stacks);

/// What was written, for the summary.
///
/// @param missing Sentences of shortfalls().
FileWritten describe(const FileRequest& request, const Survey& survey, std::string_view format,
                     std::uint64_t bytes, std::vector<std::string> missing);

}  // namespace gpuprof::exporter
