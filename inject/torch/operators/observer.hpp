// SPDX-License-Identifier: Apache-2.0
//
// The two callbacks that libtorch runs around every operator, autograd node and range of the
// program.
//
// Context:  callback (on any thread of the program, mostly without the GIL)
// Promises: never throws, allocates, locks; touches no reference count of Python or PyTorch
// Not here: registration (torch.cpp), offsets (calibrate.cpp)
#pragma once

#include "inject/torch/library.hpp"

namespace gpuprof::torch {

/// The pair for g_libraries[copy].
RecordFunctionCallback callbacks_of(std::uint32_t copy);

/// What is recorded of each operator: wire::kTorch… bits. Worker.
void set_detail(std::uint32_t detail);

/// From now on callbacks return at once: names are freed by static destructors. Boundary.
void disable_callbacks_at_exit();

}  // namespace gpuprof::torch
