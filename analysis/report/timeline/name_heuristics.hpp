// SPDX-License-Identifier: Apache-2.0
//
// Classifies kernels, operators and calls by their names (beside gpu_tables.hpp).
//
// Context:  any
// Owns:     nothing
#pragma once

#include <string_view>

namespace gpuprof::report {

/// A collective, by the names that NCCL, RCCL, HCCL and oneCCL give their kernels.
bool is_collective_kernel(std::string_view kernel);

}  // namespace gpuprof::report
