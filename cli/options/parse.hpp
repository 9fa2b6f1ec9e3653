// SPDX-License-Identifier: Apache-2.0
//
// From argv to a command and its options.
//
// Context:  cli
// Owns:     nothing
// Promises: everything from the program's name on is kept word by word; any bad word is one
//           sentence with exit status 125
#pragma once

#include <string>
#include <vector>

#include "cli/options/command_table.hpp"
#include "cli/options/options.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// A command line understood.
struct Invocation {
  const CommandRow* command = nullptr;  // null: --version
  Options options;
};

/// @param words  argv without argv[0].
support::Result<Invocation> parse(const std::vector<std::string>& words);

/// Checks that need more than one option: the schedule, what belongs together.
support::Result<void> resolve_options(Options& options);

}  // namespace gpuprof::cli
