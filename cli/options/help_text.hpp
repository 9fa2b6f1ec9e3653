// SPDX-License-Identifier: Apache-2.0
//
// Help, manual page and completions, all made from the tables.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <string>

#include "cli/options/command_table.hpp"

namespace gpuprof::cli {

std::string version_text();
std::string overview_text();
/// For whoever gave no command: the ones that matter.
std::string getting_started_text();
std::string command_help_text(const CommandRow& command);

/// The whole manual page gpuprof(1), in man macros.
std::string manual_text();
/// The table of options of `gpuprof run` for documents in Markdown.
std::string markdown_options_text();
std::string bash_completion_text();
std::string zsh_completion_text();

}  // namespace gpuprof::cli
