// SPDX-License-Identifier: Apache-2.0
//
// The Python interpreters this machine has, newest patch first, one a minor version and folder.
//
// Context:  tests
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace gpuprof::tests {

/// Paths of python3.8 … python3.14: from pyenv, and what /usr/bin has.
inline std::vector<std::string> interpreters() {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  const char* home = getenv("HOME");
  const char* pyenv = getenv("PYENV_ROOT");
  const fs::path root =
      pyenv != nullptr ? fs::path(pyenv) : fs::path(home != nullptr ? home : "/") / ".pyenv";
  std::error_code ignored;
  for (const auto& version : fs::directory_iterator(root / "versions", ignored))
    for (int minor = 8; minor <= 14; ++minor) {
      const fs::path python = version.path() / "bin" / ("python3." + std::to_string(minor));
      if (fs::exists(python, ignored)) found.push_back(python);
    }
  for (int minor = 8; minor <= 14; ++minor) {
    const std::string python = "/usr/bin/python3." + std::to_string(minor);
    if (fs::exists(python, ignored)) found.push_back(python);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gpuprof::tests
