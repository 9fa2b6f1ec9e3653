// SPDX-License-Identifier: Apache-2.0
//
// Looks for copies of libtorch among the mapped modules.
//
// Context:  worker
// Owns:     one handle for each copy found, never closed
// Promises: by symbol, not by file name; a library that still runs its constructors is not touched
#pragma once

#include <cstdint>

#include "inject/torch/library.hpp"

namespace gpuprof::torch {

/// Whether modules were added since the last call.
bool modules_changed();

/// Adds copies that are not in g_libraries yet.
/// @return how many there are now.
std::uint32_t find_libraries(std::uint64_t now_ns);

/// Makes modules_changed() return true once more.
void force_rescan();

}  // namespace gpuprof::torch
