// SPDX-License-Identifier: Apache-2.0
//
// Command line of gpusim-run.
//
// Context:  tools
// Owns:     nothing
// Promises: every option that only sets a variable is one row of one table
// Not here: folders and starting the program (gpusim_run.cpp)
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gpusim {

/// What gpusim-run was asked for.
struct RunOptions {
  std::vector<std::pair<std::string, std::string>> environment;
  std::string layout = "13.0";
  std::vector<std::string> missing;
  bool stub = false;
  bool no_driver = false;
  bool no_cupti = false;
  bool preload = false;
  bool print_environment = false;
  char** command = nullptr;
};

/// Parses; prints help or an error and exits (125) where needed.
RunOptions parse_run_options(int argc, char** argv);

}  // namespace gpusim
