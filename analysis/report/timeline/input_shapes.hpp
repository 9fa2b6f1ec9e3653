// SPDX-License-Identifier: Apache-2.0
//
// Sizes of an operator's inputs, as PyTorch's tables print them.
//
// Context:  cli
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gpuprof::report {

/// `[[64, 3], [], [3]]`: an input that is no single tensor is `[]`. No inputs: `[]`.
std::string format_shapes(std::span<const std::uint64_t> words);

struct CollectiveInputs {
  std::uint64_t bytes = 0;  // of all tensors that go in
  std::string dtype, group;
};

/// What the record of a collective's arguments tells (record_param_comms), or its own inputs.
CollectiveInputs collective_inputs(std::span<const std::uint64_t> words);

}  // namespace gpuprof::report
