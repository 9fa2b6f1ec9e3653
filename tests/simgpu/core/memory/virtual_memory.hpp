// SPDX-License-Identifier: Apache-2.0
//
// Reserved address ranges and the device memory mapped into them.
//
// Context:  application threads
// Owns:     the reservations until they are freed
// Promises: memory counts against the device from its creation to its release, mapped or not; a
//           mapping can be touched only after access was granted
// Not here: ordinary allocations (memory.hpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/objects.hpp"

namespace gpusim {

/// Smallest unit of creation and mapping.
constexpr std::size_t kMappingGranule = 2u << 20;

/// Memory that has been made and may be mapped. `host` memory is not counted on any device.
struct PhysicalMemory {
  std::uint32_t magic = kLive;
  Device* device = nullptr;
  bool host = false;
  std::size_t bytes = 0;
  std::uint32_t references = 1;  ///< the creator's and one for each mapping
};

/// Reserves a range. @return CUresult value.
int reserve_range(std::size_t bytes, std::size_t alignment, std::uintptr_t hint,
                  std::uintptr_t* base);
int free_range(std::uintptr_t base, std::size_t bytes);

/// Makes memory. @return CUresult value.
int create_memory(Device* device, bool host, std::size_t bytes, PhysicalMemory** memory);
int release_memory(PhysicalMemory* memory);
int retain_memory(std::uintptr_t address, PhysicalMemory** memory);

/// Maps all of `memory` at `address` inside a reserved range; contents are lost at `unmap_memory`.
/// @return CUresult value.
int map_memory(std::uintptr_t address, std::size_t bytes, PhysicalMemory* memory, Context* context);
int unmap_memory(std::uintptr_t address, std::size_t bytes);
/// Grants or takes access to whole mappings. @return CUresult value.
int set_access(std::uintptr_t address, std::size_t bytes, bool read, bool write);

}  // namespace gpusim
