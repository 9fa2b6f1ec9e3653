// SPDX-License-Identifier: Apache-2.0
//
// gpuprof help [COMMAND].
//
// Context:  cli
#include <fmt/format.h>

#include "cli/options/command_table.hpp"
#include "cli/options/help_text.hpp"
#include "cli/output/stdout_writer.hpp"

namespace gpuprof::cli {

support::Result<int> help_command(Options& options) {
  std::string text = overview_text();
  if (!options.arguments.empty()) {
    const std::string& name = options.arguments.front();
    if (const CommandRow* command = find_command(name)) {
      text = command_help_text(*command);
    } else {
      return unknown_command(name);
    }
  }
  GPUPROF_CHECK(write_stdout(text, "the help"));
  return 0;
}

}  // namespace gpuprof::cli
