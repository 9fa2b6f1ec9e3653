// SPDX-License-Identifier: Apache-2.0
//
// Unwind tables that the program registers with its compiler's runtime (`__register_frame`), as
// LLVM's compilers do for the code that they generate (Numba, XLA).
//
// Context:  boundary (on_…), signal | callback (find_fde), worker (the rest)
// Owns:     a list of their addresses; one mapping with an index of what they cover
// Promises: no lock, no allocation and nothing read of a table where the program registers it; one
//           that it has deregistered is no longer used from that moment on
// Not here: the calls themselves (entry/interpose_register_frame.cpp), libunwind
//           (sample/unwind/registered_phdr.hpp)
//
// The worker reads them, a few milliseconds later, by process_vm_readv: a table that is gone by
// then yields an error code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inject/eh_frames/eh_frame.hpp"

namespace gpuprof::frames {

/// The program registers an .eh_frame section, or deregisters it. Boundary.
void on_register_frame(const void* section);
void on_deregister_frame(const void* section);

/// A mapping that readers may see: freed by its owner when none can any more.
struct SharedMapping {
  std::size_t map_bytes;
  SharedMapping* next;
};

/// Reads what was registered since, if something was. What was in use until then is handed to
/// `retire`. Worker. @return true: there is a new index.
bool rebuild_index(std::uint64_t now_ns, void (*retire)(SharedMapping*));

/// No index from now on; the next refresh reads everything again. Worker.
void drop_index(void (*retire)(SharedMapping*));

/// The entry for an address, if its table is still registered. The caller keeps the index from
/// being freed (sample::SnapshotReader).
bool find_fde(std::uintptr_t address, Fde* entry);

}  // namespace gpuprof::frames
