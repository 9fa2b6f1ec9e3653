// SPDX-License-Identifier: Apache-2.0
//
// The version of PyTorch, for messages only: it never decides what is read of PyTorch.
//
// Context:  worker
#pragma once

#include <cstddef>

namespace gpuprof::torch {

/// Reads version.py beside a wheel's lib folder; writes "unknown" where there is none.
void read_torch_version(const char* library_path, char* to, std::size_t room);

}  // namespace gpuprof::torch
