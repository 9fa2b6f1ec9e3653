// SPDX-License-Identifier: Apache-2.0
//
// The allocation map.
//
// Context:  application threads
// Owns:     one leaked map and the mappings in it
// Promises: see memory.hpp
// Not here: API entry points (cuda/memory_api.cpp)
#include "core/memory/memory.hpp"

#include <sys/mman.h>

#include <cstring>
#include <iterator>
#include <map>

#include <cuda.h>

namespace gpusim {
namespace {

constexpr std::size_t kGranule = 512;
constexpr std::size_t kZeroPolicyBytes = 256;

struct Table {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> by_base;
};

Table& table() {
  static auto* const t = new Table;
  return *t;
}

}  // namespace

bool charge_device_memory(Device* device, std::size_t bytes) {
  std::uint64_t used = device->used_bytes.load();
  do {
    if (bytes > device->total_bytes || used > device->total_bytes - bytes) return false;
  } while (!device->used_bytes.compare_exchange_weak(used, used + bytes));
  return true;
}

int allocate(Context* context, MemoryKind kind, std::size_t bytes, std::uintptr_t* address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > SIZE_MAX - kGranule) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t rounded = (bytes + kGranule - 1) / kGranule * kGranule;
  const bool on_device = kind == kDeviceMemory || kind == kManaged;
  if (on_device && !charge_device_memory(context->device, rounded)) return CUDA_ERROR_OUT_OF_MEMORY;
  void* p = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    if (on_device) context->device->used_bytes -= rounded;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const auto base = reinterpret_cast<std::uintptr_t>(p);
  const std::lock_guard<std::mutex> lock(table().mutex);
  table().by_base[base] = {base, rounded, context->device, context, kind};
  *address = base;
  return CUDA_SUCCESS;
}

int release(std::uintptr_t address) {
  if (address == 0) return CUDA_SUCCESS;
  const std::lock_guard<std::mutex> lock(table().mutex);
  const auto it = table().by_base.find(address);
  if (it == table().by_base.end()) return CUDA_ERROR_INVALID_VALUE;
  const Allocation a = it->second;
  if (a.borrowed) return CUDA_ERROR_INVALID_VALUE;
  if (a.kind == kDeviceMemory || a.kind == kManaged) a.device->used_bytes -= a.bytes;
  munmap(reinterpret_cast<void*>(a.base), a.bytes);
  table().by_base.erase(it);
  return CUDA_SUCCESS;
}

bool register_foreign(const Allocation& allocation) {
  const std::lock_guard<std::mutex> lock(table().mutex);
  auto& map = table().by_base;
  if (allocation.bytes > UINTPTR_MAX - allocation.base) return false;
  const auto next = map.lower_bound(allocation.base);
  if (next != map.end() && next->first < allocation.base + allocation.bytes) return false;
  if (next != map.begin()) {
    const Allocation& before = std::prev(next)->second;
    if (before.base + before.bytes > allocation.base) return false;
  }
  Allocation& entry = map[allocation.base] = allocation;
  entry.borrowed = true;
  return true;
}

bool unregister_foreign(std::uintptr_t base, Allocation* was) {
  const std::lock_guard<std::mutex> lock(table().mutex);
  const auto it = table().by_base.find(base);
  if (it == table().by_base.end() || !it->second.borrowed) return false;
  if (was != nullptr) *was = it->second;
  table().by_base.erase(it);
  return true;
}

bool find_allocation(std::uintptr_t address, Allocation* found) {
  const std::lock_guard<std::mutex> lock(table().mutex);
  auto it = table().by_base.upper_bound(address);
  if (it == table().by_base.begin()) return false;
  --it;
  if (address >= it->second.base + it->second.bytes) return false;
  *found = it->second;
  return true;
}

bool is_plausible(const Extent& e) {
  std::size_t bytes = 0;
  std::uintptr_t end = 0;
  if (e.base == 0) return false;
  if (__builtin_mul_overflow(e.rows - 1, e.pitch, &bytes) ||
      __builtin_add_overflow(bytes, e.bytes, &bytes) || __builtin_add_overflow(e.base, bytes, &end))
    return false;
  const std::lock_guard<std::mutex> lock(table().mutex);
  const auto& map = table().by_base;
  auto it = map.upper_bound(e.base);
  if (it == map.begin()) return true;
  --it;
  std::uintptr_t reached = it->second.base + it->second.bytes;
  if (e.base >= reached) return true;
  while (reached < end && ++it != map.end() && it->second.base == reached)
    reached += it->second.bytes;
  return reached >= end;
}

MemoryKind memory_kind(std::uintptr_t address) {
  Allocation a{};
  return find_allocation(address, &a) ? a.kind : kPageable;
}

void move_bytes(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  if (config().zero_data && bytes >= kZeroPolicyBytes && memory_kind(to) == kDeviceMemory) return;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}

void set_bytes(std::uintptr_t to, std::uint32_t value, int width, std::size_t count) {
  const std::size_t bytes = count * static_cast<std::size_t>(width);
  auto* p = reinterpret_cast<unsigned char*>(to);
  if (value == 0 && bytes >= (1u << 20) && to % 4096 == 0) {
    const std::size_t whole = bytes / 4096 * 4096;
    madvise(p, whole, MADV_DONTNEED);
    std::memset(p + whole, 0, bytes - whole);
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(p + i * static_cast<std::size_t>(width), &value, static_cast<std::size_t>(width));
}

bool is_write_dropped(const Effect& e) {
  return config().zero_data && e.width == 0 && e.bytes >= kZeroPolicyBytes &&
         memory_kind(e.to) == kDeviceMemory;
}

void apply(const Effect& e) {
  for (std::size_t row = 0; e.bytes > 0 && row < e.rows; ++row) {
    const std::uintptr_t to = e.to + row * e.to_pitch;
    if (e.width == 0)
      move_bytes(to, e.from + row * e.from_pitch, e.bytes);
    else
      set_bytes(to, e.value, e.width, e.bytes / static_cast<std::size_t>(e.width));
  }
}

}  // namespace gpusim
