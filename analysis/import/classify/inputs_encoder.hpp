// SPDX-License-Identifier: Apache-2.0
//
// "Input Dims", "Input type" and "Concrete Inputs" back into words of
// gpuprof/wire/operator_inputs.hpp.
//
// Context:  cli through analysis/commands
// Owns:     nothing
// Promises: what is written again from the words (analysis/export/labels/inputs_formatter.hpp) is
//           what was read, for everything PyTorch's profiler and gpuprof write
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/import/json/raw_event.hpp"

namespace gpuprof::importer {

/// Empty where the event tells no inputs. Of record_param_comms also what its own keys tell.
std::vector<std::uint64_t> encode_inputs(const RawEvent& event, bool is_collective);

}  // namespace gpuprof::importer
