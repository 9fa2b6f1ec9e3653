// SPDX-License-Identifier: Apache-2.0
//
// An .eh_frame section as it lies in memory: which addresses it covers.
//
// Context:  worker
// Promises: memory is read only through the caller's function, and not without end; what is not
//           understood is passed over
// Not here: what its entries say about registers, which is libunwind's
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::frames {

/// One entry (FDE): the code it covers, where it lies, and where its common part (CIE) lies.
struct Fde {
  std::uintptr_t begin, end;
  std::uintptr_t at, cie;
  std::uint64_t head;  // its first eight bytes
};

struct SectionReader {
  /// Copies `bytes` from an address of this process; false where that is not possible.
  bool (*read)(void* from, std::uintptr_t address, void* to, std::size_t bytes);
  /// Receives an entry; false: no more are wanted.
  bool (*on_fde)(void* from, const Fde& entry);
  void* from;
};

/// Reads the section that begins at `address` up to its end mark.
/// @return False: it has no end mark where one could be, or could not be read. What was received is
/// valid.
bool read_eh_frame(std::uintptr_t address, const SectionReader& reader);

}  // namespace gpuprof::frames
