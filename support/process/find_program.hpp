// SPDX-License-Identifier: Apache-2.0
//
// Where a program is that a user named.
//
// Context:  daemon | cli
#pragma once

#include <string>

#include "support/result.hpp"

namespace gpuprof::support {

/// The file a shell would run for `word`: the word itself if it holds a slash, else the first
/// executable of that name in `path_variable`.
///
/// Errors: 127 not there, 126 there but not executable or a folder.
Result<std::string> find_program(const std::string& word, const std::string& path_variable);

}  // namespace gpuprof::support
