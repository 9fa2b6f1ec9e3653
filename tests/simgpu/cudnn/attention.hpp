// SPDX-License-Identifier: Apache-2.0
//
// Attention graphs of the simulated cuDNN: recognised as a whole, one fused kernel each.
//
// Context:  application threads
// Owns:     nothing
// Promises: flops are those of the matrix products, whichever way the graph is written
// Not here: every other graph (backend_execute.cpp)
#pragma once

#include "cudnn/backend.hpp"

namespace gpusim {

struct Stream;

/// Whether the graph is one attention operation, or two or more matrix products joined by what
/// attention has between them.
bool is_attention(const BackendState& graph);

/// Launches the kernel of an attention graph.
cudnnStatus_t run_attention(Stream* stream, const BackendState& graph);

}  // namespace gpusim
