// SPDX-License-Identifier: Apache-2.0
//
// The one list of commands.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

struct CommandRow {
  const char* name;
  unsigned flag;            // kRun, ...: selects its options
  const char* usage;        // after "gpuprof "
  const char* summary;      // one line for `gpuprof help`
  const char* description;  // a paragraph for its own help
  support::Result<int> (*execute)(Options& options);
};

std::span<const CommandRow> command_table();
const CommandRow* find_command(const std::string& name);

/// What to say where there is none.
support::Error unknown_command(const std::string& name);

// One file each.
support::Result<int> run_command(Options& options);
support::Result<int> report_command(Options& options);
support::Result<int> export_command(Options& options);
support::Result<int> diff_command(Options& options);
support::Result<int> doctor_command(Options& options);
support::Result<int> attach_command(Options& options);
support::Result<int> capture_command(Options& options);
support::Result<int> stop_command(Options& options);
support::Result<int> detach_command(Options& options);
support::Result<int> status_command(Options& options);
support::Result<int> serve_command(Options& options);
support::Result<int> env_command(Options& options);
support::Result<int> help_command(Options& options);

}  // namespace gpuprof::cli
