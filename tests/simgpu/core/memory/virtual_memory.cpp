// SPDX-License-Identifier: Apache-2.0
//
// Reservations as inaccessible host pages, mappings as pages made accessible.
//
// Context:  application threads
// Owns:     one leaked table
// Promises: see virtual_memory.hpp
// Not here: API entry points (cuda/virtual_memory_api.cpp)
#include "core/memory/virtual_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <map>

#include <cuda.h>

#include "core/memory/memory.hpp"

namespace gpusim {
namespace {

struct Mapping {
  std::size_t bytes;
  PhysicalMemory* memory;
};

struct Table {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> ranges;
  std::map<std::uintptr_t, Mapping> mappings;
};

Table& table() {
  static auto* const t = new Table;
  return *t;
}

bool whole(std::size_t bytes) { return bytes > 0 && bytes % kMappingGranule == 0; }

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

/// Caller holds the table.
bool inside_range(std::uintptr_t address, std::size_t bytes) {
  auto it = table().ranges.upper_bound(address);
  if (it == table().ranges.begin()) return false;
  --it;
  return address + bytes <= it->first + it->second;
}

/// Drops a reference. Caller holds the table.
void drop(PhysicalMemory* memory) {
  if (--memory->references > 0) return;
  if (!memory->host) memory->device->used_bytes -= memory->bytes;
  memory->magic = kDead;
}

/// The mappings that exactly cover the range, or none. Caller holds the table.
bool covered(std::uintptr_t address, std::size_t bytes) {
  std::uintptr_t next = address;
  for (auto it = table().mappings.find(address);
       it != table().mappings.end() && it->first == next && next < address + bytes; ++it)
    next += it->second.bytes;
  return next == address + bytes;
}

}  // namespace

int reserve_range(std::size_t bytes, std::size_t alignment, std::uintptr_t hint,
                  std::uintptr_t* base) {
  if (!whole(bytes) || (alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t align = std::max(alignment, kMappingGranule);
  void* p =
      mmap(at(hint), bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto start = reinterpret_cast<std::uintptr_t>(p);
  const std::uintptr_t aligned = (start + align - 1) / align * align;
  if (aligned > start) munmap(p, aligned - start);
  munmap(at(aligned + bytes), start + align - aligned);
  const std::lock_guard<std::mutex> lock(table().mutex);
  table().ranges[aligned] = bytes;
  *base = aligned;
  return CUDA_SUCCESS;
}

int free_range(std::uintptr_t base, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(table().mutex);
  const auto it = table().ranges.find(base);
  if (it == table().ranges.end() || it->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto mapped = table().mappings.lower_bound(base);
  if (mapped != table().mappings.end() && mapped->first < base + bytes)
    return CUDA_ERROR_INVALID_VALUE;
  munmap(at(base), bytes);
  table().ranges.erase(it);
  return CUDA_SUCCESS;
}

int create_memory(Device* device, bool host, std::size_t bytes, PhysicalMemory** memory) {
  if (!whole(bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (!host && !charge_device_memory(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  auto* m = new PhysicalMemory;
  m->device = device;
  m->host = host;
  m->bytes = bytes;
  *memory = m;
  return CUDA_SUCCESS;
}

int release_memory(PhysicalMemory* memory) {
  const std::lock_guard<std::mutex> lock(table().mutex);
  if (!live(memory)) return CUDA_ERROR_INVALID_VALUE;
  drop(memory);
  return CUDA_SUCCESS;
}

int retain_memory(std::uintptr_t address, PhysicalMemory** memory) {
  const std::lock_guard<std::mutex> lock(table().mutex);
  auto it = table().mappings.upper_bound(address);
  if (it == table().mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
  --it;
  if (address >= it->first + it->second.bytes) return CUDA_ERROR_INVALID_VALUE;
  ++it->second.memory->references;
  *memory = it->second.memory;
  return CUDA_SUCCESS;
}

int map_memory(std::uintptr_t address, std::size_t bytes, PhysicalMemory* memory,
               Context* context) {
  const std::lock_guard<std::mutex> lock(table().mutex);
  if (!live(memory) || bytes != memory->bytes || address % kMappingGranule != 0 ||
      !inside_range(address, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  const MemoryKind kind = memory->host ? kPinned : kDeviceMemory;
  if (!register_foreign({address, bytes, memory->device, context, kind}))
    return CUDA_ERROR_INVALID_VALUE;
  ++memory->references;
  table().mappings[address] = {bytes, memory};
  return CUDA_SUCCESS;
}

int unmap_memory(std::uintptr_t address, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(table().mutex);
  if (!covered(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  for (auto it = table().mappings.find(address);
       it != table().mappings.end() && it->first < address + bytes;) {
    unregister_foreign(it->first, nullptr);
    drop(it->second.memory);
    it = table().mappings.erase(it);
  }
  madvise(at(address), bytes, MADV_DONTNEED);
  mprotect(at(address), bytes, PROT_NONE);
  return CUDA_SUCCESS;
}

int set_access(std::uintptr_t address, std::size_t bytes, bool read, bool write) {
  const std::lock_guard<std::mutex> lock(table().mutex);
  if (!covered(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const int protection = (read ? PROT_READ : PROT_NONE) | (write ? PROT_WRITE : PROT_NONE);
  return mprotect(at(address), bytes, protection) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace gpusim
