// SPDX-License-Identifier: Apache-2.0
//
// The list of what is registered, and the look into the index.
//
// Context:  boundary | signal | callback
// Owns:     the list
#include "inject/eh_frames/registered_tables.hpp"

#include "inject/eh_frames/table_state.hpp"

namespace gpuprof::frames {

constinit RegisteredTable g_tables[kMaxTables];
constinit std::atomic<std::uint32_t> g_table_count{0}, g_table_changes{0};
constinit std::atomic<FdeIndex*> g_index{nullptr};

void on_register_frame(const void* section) {
  static constinit std::atomic<std::uint64_t> serials{0};
  const auto begin = reinterpret_cast<std::uintptr_t>(section);
  if (begin == 0) return;
  const std::uint64_t serial = serials.fetch_add(1, std::memory_order_relaxed) + 1;
  for (std::uint32_t i = 0; i < kMaxTables; ++i) {
    std::uintptr_t free = 0;
    if (g_tables[i].begin.load(std::memory_order_relaxed) != 0 ||
        !g_tables[i].begin.compare_exchange_strong(free, begin, std::memory_order_relaxed))
      continue;
    // release: who sees the serial sees the begin
    g_tables[i].serial.store(serial, std::memory_order_release);
    std::uint32_t count = g_table_count.load(std::memory_order_relaxed);
    while (count <= i && !g_table_count.compare_exchange_weak(count, i + 1)) {
    }
    break;
  }
  g_table_changes.fetch_add(1, std::memory_order_release);
}

void on_deregister_frame(const void* section) {
  const auto begin = reinterpret_cast<std::uintptr_t>(section);
  if (begin == 0) return;
  for (std::uint32_t i = 0; i < g_table_count.load(std::memory_order_acquire); ++i) {
    RegisteredTable& table = g_tables[i];
    if (table.begin.load(std::memory_order_relaxed) != begin) continue;
    const std::uint64_t serial = table.serial.exchange(0, std::memory_order_seq_cst);
    if (serial == 0) continue;  // another thread takes it back, or has not done registering it
    table.begin.store(0, std::memory_order_release);
    g_table_changes.fetch_add(1, std::memory_order_release);
    return;
  }
}

bool find_fde(std::uintptr_t address, Fde* entry) {
  const FdeIndex* index = g_index.load(std::memory_order_seq_cst);
  if (index == nullptr) return false;
  std::uint32_t low = 0, high = index->count;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (index->entries()[middle].entry.begin <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return false;
  const IndexEntry& found = index->entries()[low - 1];
  if (address >= found.entry.end ||
      g_tables[found.table].serial.load(std::memory_order_seq_cst) != found.serial)
    return false;
  *entry = found.entry;
  return true;
}

}  // namespace gpuprof::frames
