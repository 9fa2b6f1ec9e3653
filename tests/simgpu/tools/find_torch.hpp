// SPDX-License-Identifier: Apache-2.0
//
// The PyTorch of an interpreter, and whether the fakes fit it.
//
// Context:  tools
// Owns:     nothing
// Promises: PyTorch is not imported: the interpreter is asked where it is, its version file is read
// Not here: which interpreter (find_program.hpp)
#pragma once

#include <string>

namespace gpusim {

/// One installed PyTorch.
struct Torch {
  std::string python;   ///< the interpreter itself, no shim
  std::string folder;   ///< empty: there is none
  std::string version;  ///< 2.15.0+cu132
  std::string cuda;     ///< 13.2; empty: without CUDA
};

/// What `python` would import.
Torch torch_of(const std::string& python);

/// The PyTorch that the fakes were built for; `folder` is empty where they were built without.
Torch torch_built_for();

/// Why the fakes do not fit `torch`, as a sentence; empty: they fit.
std::string incompatibility_reason(const Torch& torch);

}  // namespace gpusim
