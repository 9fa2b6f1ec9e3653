// SPDX-License-Identifier: Apache-2.0
//
// Answers libunwind's query for the module of an address with an unwind table that the program
// has registered (inject/eh_frames).
//
// Context:  signal | callback, worker (for a copied stack)
// Promises: the entry is read once more before it is used: one that is gone, or is another by now,
//           yields nothing
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace gpuprof::sample {

/// Calls back with a module of one entry, as dl_iterate_phdr does. 0: none is known. Needs a
/// SnapshotReader.
int iterate_registered_phdr(std::uintptr_t address,
                            int (*callback)(dl_phdr_info*, std::size_t, void*), void* data);

}  // namespace gpuprof::sample
