// SPDX-License-Identifier: Apache-2.0
//
// State shared by the files of this component.
//
// Context:  boundary | signal | callback | worker
// Owns:     everything of the component, in static storage
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "inject/eh_frames/registered_tables.hpp"

namespace gpuprof::frames {

/// Those beyond are ignored: stacks that need them are flagged like others without tables.
inline constexpr std::uint32_t kMaxTables = 8192;

struct RegisteredTable {
  std::atomic<std::uintptr_t> begin{0};  // 0: free
  std::atomic<std::uint64_t> serial{0};  // of this registration; 0: none, or not yet
};
extern RegisteredTable g_tables[kMaxTables];
/// How many of them have ever been used, and how often any changed.
extern std::atomic<std::uint32_t> g_table_count, g_table_changes;

struct IndexEntry {
  Fde entry;
  std::uint64_t serial;
  std::uint32_t table;
};

/// Sorted by begin, not overlapping.
struct FdeIndex : SharedMapping {
  std::uint32_t count;

  IndexEntry* entries() { return reinterpret_cast<IndexEntry*>(this + 1); }
  const IndexEntry* entries() const { return reinterpret_cast<const IndexEntry*>(this + 1); }
};
extern std::atomic<FdeIndex*> g_index;

}  // namespace gpuprof::frames
