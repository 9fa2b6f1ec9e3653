// SPDX-License-Identifier: Apache-2.0
//
// Learns from a probe object where a RecordFunction keeps what we read.
//
// Context:  worker
// Promises: an offset is kept only if every check agreed; the probe is seen by nobody else
// Not here: inputs and tensors (input_layout.hpp)
#pragma once

#include "inject/torch/library.hpp"

namespace gpuprof::torch {

/// Fills library.at.
/// @return null, or why nothing but names and times can be read.
const char* calibrate(Library& library);

}  // namespace gpuprof::torch
