// SPDX-License-Identifier: Apache-2.0
//
// What all formats have in common: reading a process's spool, and stating what a file holds.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing
// Not here: the second pass of the JSON files (tensorboard_writer.cpp), of all others
//           (event_resolver.hpp)
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
bool is_simulated(const Prescan& prescan);

/// One pass over the part of the spool that may hold events of the window.
support::Result<spool::ReplayResult> read_events(const FileRequest& request,
                                                 model::EventSink& sink);
/// Instead of a pass that a file can do without: progress counts it as done.
void skip_pass(const FileRequest& request);
/// Events that a pass reads; 0 where the spool cannot be read.
std::uint64_t count_pass_events(const spool::ProcessEntry& process, const model::Window& window);

/// The first pass. Errors: a spool that cannot be read.
support::Result<void> prescan_process(const FileRequest& request, Prescan& prescan,
                                      StackFormatter& stacks);

/// What was written, for the summary.
///
/// @param missing Sentences of missing_data_messages().
WrittenFile make_written_file(const FileRequest& request, const Prescan& prescan,
                              std::string_view format, std::uint64_t bytes,
                              std::vector<std::string> missing);

}  // namespace gpuprof::exporter
