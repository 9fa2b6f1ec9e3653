// SPDX-License-Identifier: Apache-2.0
//
// Writes one slot, which other threads may be calling through.
//
// Context:  worker
// Promises: a reader sees the old value or the new one; the page's protection is the same
//           afterwards as before
#pragma once

#include <cstdint>

namespace gpuprof::got {

/// @param read_only  The page may have been made read-only after loading.
/// @return           False: it could not be made writable; nothing was changed.
bool write_slot(std::uintptr_t* slot, std::uintptr_t value, bool read_only);

/// Protection of a page (PROT_…) as /proc/self/maps has it; -1: not known.
int protection_of(const void* address);

}  // namespace gpuprof::got
