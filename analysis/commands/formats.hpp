// SPDX-License-Identifier: Apache-2.0
//
// What --format accepts and what files of formats are called, for the CLI's help and validation.
//
// Context:  cli
// Owns:     nothing
// Not here: the formats (analysis/export)
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gpuprof::commands {

std::vector<std::string> format_names();
/// Their names and what each is for, in words that follow "for".
std::vector<std::pair<std::string, std::string>> format_purposes();
/// What names of their files end in, compressed or not.
std::vector<std::string> format_suffixes();
/// The format whose files end as this name does; empty: none.
std::string format_of_ending(const std::string& name);

}  // namespace gpuprof::commands
