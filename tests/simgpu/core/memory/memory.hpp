// SPDX-License-Identifier: Apache-2.0
//
// Device, pinned and managed memory: reserved host pages in an ordered map.
//
// Context:  application threads
// Owns:     the mappings until they are freed
// Promises: a device allocation costs only the pages that are copied or set; the device's size is
//           respected
// Not here: the time a copy takes (timeline.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/objects.hpp"

namespace gpusim {

/// One allocation.
struct Allocation {
  std::uintptr_t base;
  std::size_t bytes;
  Device* device;
  Context* context;
  MemoryKind kind;
  bool borrowed = false;  ///< the pages belong to someone else, for example registered host memory
};

/// Allocates `bytes`; `*address` is unchanged on error. @return CUresult value.
int allocate(Context* context, MemoryKind kind, std::size_t bytes, std::uintptr_t* address);
/// Frees what `allocate` gave. @return CUresult value.
int release(std::uintptr_t address);
/// Enters pages that someone else made; counts nothing. False if they overlap a known allocation.
bool register_foreign(const Allocation& allocation);
/// Takes an adopted allocation out again; `*was` (may be null) is what it was.
bool unregister_foreign(std::uintptr_t base, Allocation* was);
/// Counts bytes of device memory as used. False if there are not so many left.
bool charge_device_memory(Device* device, std::size_t bytes);
/// Finds the allocation an address lies in.
bool find_allocation(std::uintptr_t address, Allocation* found);
/// Rows of bytes, each `pitch` after the one before.
struct Extent {
  std::uintptr_t base;
  std::size_t bytes, rows, pitch;
};
/// Whether the extent ends in the allocation it begins in, or in those that adjoin it. An unknown
/// address is pageable memory of the host, which is trusted; null never is.
bool is_plausible(const Extent& extent);
/// Kind of memory behind an address; unknown addresses are pageable.
MemoryKind memory_kind(std::uintptr_t address);

/// Whether the data policy drops this write.
bool is_write_dropped(const Effect& effect);
/// Does what the effect says, now.
void apply(const Effect& effect);

/// Moves bytes as the data policy says.
void move_bytes(std::uintptr_t to, std::uintptr_t from, std::size_t bytes);
/// Sets `count` elements of `width` bytes (1, 2 or 4).
void set_bytes(std::uintptr_t to, std::uint32_t value, int width, std::size_t count);

}  // namespace gpusim
