// SPDX-License-Identifier: Apache-2.0
//
// Which function of the driver a name means for which CUDA version.
//
// Context:  any
// Owns:     nothing
// Promises: rows of one name stand together, oldest version first
// Not here: the rows: generated from the CUDA headers (generate_driver.py)
#pragma once

namespace gpusim {

/// From `version` on, `asked` means `symbol`.
struct FunctionVersion {
  const char* asked;
  int version;
  const char* symbol;
};
extern const FunctionVersion kFunctionVersions[];
extern const int kFunctionVersionCount;

}  // namespace gpusim
