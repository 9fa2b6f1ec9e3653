// SPDX-License-Identifier: Apache-2.0
//
// A section .eh_frame as it lies in memory: which addresses it tells about.
//
// Context:  worker
// Owns:     nothing
// Promises: memory is read by the caller's function alone, and not without end; what is not
//           understood is passed over
// Not here: what its entries say about registers, which is libunwind's
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::frames {

/// One entry (FDE): the code it is about, where it lies, and where its common part (CIE) does.
struct Fde {
  std::uintptr_t begin, end;
  std::uintptr_t at, cie;
  std::uint64_t head;  // its first eight bytes
};

struct SectionReader {
  /// Copies `bytes` from an address of this process; false where that is not possible.
  bool (*read)(void* from, std::uintptr_t address, void* to, std::size_t bytes);
  /// Takes an entry; false: no more of them.
  bool (*on_fde)(void* from, const Fde& entry);
  void* from;
};

/// Goes through the section that begins at `address` until its end mark.
/// @return False: it has none where one could be, or could not be read. What was taken is good.
bool read_eh_frame(std::uintptr_t address, const SectionReader& reader);

}  // namespace gpuprof::frames
