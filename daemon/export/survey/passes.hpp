// SPDX-License-Identifier: Apache-2.0
//
// What every format does alike: read a process's spool for the survey, say what the file holds.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing
// Not here: the second pass of the JSON files (tensorboard_writer.cpp), of all others (shown.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/export/survey/file.hpp"
#include "daemon/export/survey/survey.hpp"
#include "daemon/export/words/stack_text.hpp"

namespace gpuprof::exporter {

/// Whether the process said that its GPU is a simulated one.
bool is_simulated(const Survey& survey);

/// The part of a spool that may hold events of the window: GPU work ends later than its launch.
spool::ReplayRange replay_range(const model::Window& window);

/// The first pass. Errors: a spool that cannot be read.
support::Result<void> survey_process(const FileRequest& request, Survey& survey, StackText& stacks);

/// What was written, for the summary.
///
/// @param missing Sentences of shortfalls().
FileWritten describe(const FileRequest& request, const Survey& survey, std::string_view format,
                     std::uint64_t bytes, std::vector<std::string> missing);

}  // namespace gpuprof::exporter
