// SPDX-License-Identifier: Apache-2.0
//
// Where a graph was launched, for records of whole graphs that name no device: those that begin on
// the host.
//
// Context:  callback
// Owns:     two small tables, in which later entries overwrite earlier ones
// Promises: no lock; a result is that of this very launch, or there is none
// Not here: the record (translate.hpp)
#pragma once

#include <cstdint>

namespace gpuprof::cupti {

/// CUPTI's value for "no device" or "no context": INT_MAX.
inline constexpr std::uint32_t kNoDevice = 0x7fffffff;

void record_context(std::uint32_t context, std::uint32_t device);
/// A graph is launched under this context.
void record_graph_launch(std::uint32_t correlation, std::uint32_t context);
/// False: no longer known.
bool find_graph_device(std::uint32_t correlation, std::uint32_t* device, std::uint32_t* context);

}  // namespace gpuprof::cupti
