// SPDX-License-Identifier: Apache-2.0
//
// An open-addressed table that grows.
//
// Context:  callback
#include "inject/torch/memory/program_block_table.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace gpuprof::torch {
namespace {

constexpr std::uint64_t kFirstSlots = 4096;
constexpr std::uint64_t kMaxSlots = 1u << 20;  // 16 MiB

struct Block {
  std::uint64_t address;  // 0: free
  std::int64_t bytes;
};

constinit std::atomic<bool> g_busy{false};
Block* g_blocks = nullptr;
std::uint64_t g_slots = 0, g_used = 0;
std::size_t g_allocated = 0;

class SpinLockGuard {
 public:
  SpinLockGuard() {
    while (g_busy.exchange(true, std::memory_order_acquire)) ::syscall(SYS_sched_yield);
  }
  ~SpinLockGuard() { g_busy.store(false, std::memory_order_release); }
  SpinLockGuard(const SpinLockGuard&) = delete;
  SpinLockGuard& operator=(const SpinLockGuard&) = delete;
};

std::uint64_t home(std::uint64_t address, std::uint64_t slots) {
  return (address >> 4) * 0x9e3779b97f4a7c15ULL >> 20 & (slots - 1);
}

// Its slot, or the free one where it belongs.
std::uint64_t slot_of(const Block* blocks, std::uint64_t slots, std::uint64_t address) {
  std::uint64_t at = home(address, slots);
  while (blocks[at].address != 0 && blocks[at].address != address) at = (at + 1) & (slots - 1);
  return at;
}

bool grow() {
  const std::uint64_t slots = g_slots == 0 ? kFirstSlots : g_slots * 2;
  if (slots > kMaxSlots) return g_used + 1 < g_slots;
  void* memory = mmap(nullptr, slots * sizeof(Block), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return g_used + 1 < g_slots;
  auto* blocks = static_cast<Block*>(memory);
  for (std::uint64_t i = 0; i < g_slots; ++i)
    if (g_blocks[i].address != 0) blocks[slot_of(blocks, slots, g_blocks[i].address)] = g_blocks[i];
  if (g_blocks != nullptr) munmap(g_blocks, g_slots * sizeof(Block));
  g_blocks = blocks;
  g_slots = slots;
  return true;
}

void add(std::uint64_t address, std::int64_t bytes) {
  g_allocated += static_cast<std::size_t>(bytes);
  if (g_used * 4 >= g_slots * 3 && !grow()) return;
  Block& block = g_blocks[slot_of(g_blocks, g_slots, address)];
  if (block.address == 0) ++g_used;
  block = {address, bytes};
}

// Closes the gap, so that a search never stops short of what stands behind it.
void erase(std::uint64_t gap) {
  const std::uint64_t mask = g_slots - 1;
  for (std::uint64_t at = (gap + 1) & mask; g_blocks[at].address != 0; at = (at + 1) & mask) {
    if (((at - home(g_blocks[at].address, g_slots)) & mask) < ((at - gap) & mask)) continue;
    g_blocks[gap] = g_blocks[at];
    gap = at;
  }
  g_blocks[gap] = {};
  --g_used;
}

bool take(std::uint64_t address, std::int64_t* bytes) {
  if (g_slots == 0) return false;
  const std::uint64_t at = slot_of(g_blocks, g_slots, address);
  if (g_blocks[at].address == 0) return false;
  *bytes = -g_blocks[at].bytes;
  g_allocated -= static_cast<std::size_t>(g_blocks[at].bytes);
  erase(at);
  return true;
}

}  // namespace

bool is_known_to_program(const void* address, std::int64_t* bytes, std::size_t* allocated) {
  const auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
  const SpinLockGuard hold;
  if (*bytes > 0)
    add(key, *bytes);
  else if (!take(key, bytes))
    return false;
  *allocated = g_allocated;
  return true;
}

void reset_block_table_lock() { g_busy.store(false, std::memory_order_relaxed); }

}  // namespace gpuprof::torch
