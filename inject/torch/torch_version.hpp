// SPDX-License-Identifier: Apache-2.0
//
// The version of PyTorch, for sentences only: what is read of it is never decided by its number.
//
// Context:  worker
// Owns:     nothing
#pragma once

#include <cstddef>

namespace gpuprof::torch {

/// Reads version.py beside a wheel's lib folder; writes "unknown" where there is none.
void read_torch_version(const char* library_path, char* to, std::size_t room);

}  // namespace gpuprof::torch
