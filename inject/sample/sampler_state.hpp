// SPDX-License-Identifier: Apache-2.0
//
// State of the sampler that its other files need.
//
// Context:  callback (read), worker (write)
#pragma once

#include "inject/sample/unwind/stack_capture.hpp"

namespace gpuprof::sample {

extern StackParts g_stack_parts;

/// In the child of a fork: nothing is on. Boundary.
void reset_sampler();

}  // namespace gpuprof::sample
