// SPDX-License-Identifier: Apache-2.0
//
// The folder of links in which a program finds the fakes under their SONAMEs.
//
// Context:  tools
// Owns:     folders below gpusim-UID in the temporary folder, one for each combination of
//           libraries, reused
// Promises: concurrent starts never see half a folder; the files behind the links keep names that
//           begin with gpusim_
// Not here: the variables that lead there (gpusim_run.cpp)
#pragma once

#include <string>
#include <vector>

#include "tools/run_options.hpp"

namespace gpusim {

/// What a program is given.
struct LibraryFolder {
  std::string path;
  std::vector<std::string> preload;  ///< files of the folder, in the order for LD_PRELOAD
};

/// Makes or finds the folder for these options.
/// @param pytorch every fake is preloaded, and CUPTI has PyTorch's SONAME whatever the layout
/// is
LibraryFolder library_folder(const RunOptions& options, bool pytorch);

/// Refuses error rules for functions that CUPTI does not have: they would never fire.
void check_error_functions(const RunOptions& options);

}  // namespace gpusim
