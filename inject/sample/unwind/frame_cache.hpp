// SPDX-License-Identifier: Apache-2.0
//
// A process-wide cache of unwind results, keyed by return address.
//
// Context:  signal | callback, worker (set up)
// Owns:     512 KiB of address space, touched as addresses are seen
#pragma once

#include <gpuprof_unwind.h>

#include <cstdint>

namespace gpuprof::sample {

inline constexpr std::uint64_t kFrameSlots = 32768;
extern gpuprof_frame_cache g_frame_cache;

}  // namespace gpuprof::sample
