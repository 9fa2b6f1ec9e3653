// SPDX-License-Identifier: Apache-2.0
//
// Where a graph was launched, for records of whole graphs that name no device: those that begin on
// the host.
//
// Context:  callback
// Owns:     two small tables, written over by what comes later
// Promises: no lock; an answer is that of this very launch, or none
// Not here: the record (translate.hpp)
#pragma once

#include <cstdint>

namespace gpuprof::cupti {

/// CUPTI's word for a device or context that is none: INT_MAX.
inline constexpr std::uint32_t kNoDevice = 0x7fffffff;

void record_context(std::uint32_t context, std::uint32_t device);
/// A graph is launched under this context.
void record_graph_launch(std::uint32_t correlation, std::uint32_t context);
/// False: not known any more.
bool find_graph_device(std::uint32_t correlation, std::uint32_t* device, std::uint32_t* context);

}  // namespace gpuprof::cupti
