// SPDX-License-Identifier: Apache-2.0
//
// Command line of gpusim-run.
//
// Context:  tools
// Owns:     nothing
// Promises: every option that only sets a variable is one row of one table, from which --help is
//           made
// Not here: what the values may be (option_values.hpp), folders and starting the program
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gpusim {

/// Whether the program is an unmodified PyTorch, which needs the fakes in front of its own
/// libraries.
enum class Pytorch { kAuto, kYes, kNo };

/// What gpusim-run was asked for.
struct RunOptions {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> missing;
  Pytorch pytorch = Pytorch::kAuto;
  bool stub = false;
  bool no_driver = false;
  bool no_cupti = false;
  bool preload = false;
  bool print_environment = false;
  char** command = nullptr;  ///< ends with a null pointer

  /// Value of a GPUSIM_* variable: as an option set it, else from the environment; empty: neither.
  std::string variable(const char* name) const;
  /// Whether an option set that variable.
  bool sets(const std::string& name) const;
  /// Sets or replaces a variable.
  void set(const std::string& name, const std::string& value);
};

/// Parses; prints help or an error and exits (125) where needed.
RunOptions parse_run_options(int argc, char** argv);

}  // namespace gpusim
