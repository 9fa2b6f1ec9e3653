// SPDX-License-Identifier: Apache-2.0
//
// An operator's inputs as words of gpuprof/wire/operator_inputs.hpp.
//
// Context:  callback
// Promises: bounded; plain loads of objects that the operator itself is about to use
// Not here: finding out how they are kept (input_layout.hpp)
#pragma once

#include "gpuprof/wire/operator_inputs.hpp"
#include "gpuprof/wire/records_torch.hpp"
#include "inject/torch/library.hpp"

namespace gpuprof::torch {

struct Inputs {
  std::uint32_t words = 0;
  std::uint32_t flags = 0;  // wire::kInputsCut
};

/// Writes the inputs of a RecordFunction that was made with them.
///
/// @param words Room for wire::kMaxInputWords.
/// @param texts Texts and short tuples are taken, too.
/// @return No words while it is not known how tensors are kept.
Inputs read_inputs(Library& library, const std::byte* function, std::uint64_t* words, bool texts);

}  // namespace gpuprof::torch
