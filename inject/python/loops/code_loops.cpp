// SPDX-License-Identifier: Apache-2.0
//
// A table of code objects by address, filled by whoever comes first.
//
// Context:  callback
// Owns:     the mapping
#include "inject/python/loops/code_loops.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <new>

#include "inject/python/frames/code_id.hpp"
#include "inject/python/runtime/runtime.hpp"

namespace gpuprof::python {
namespace {

/// Code objects remembered at most, those that went away included.
constexpr std::uint32_t kMaxCodes = 4096;
constexpr std::uint32_t kSlots = 4 * kMaxCodes;
/// Slots looked at for one address.
constexpr std::uint32_t kProbes = 16;
/// Of all loops together.
constexpr std::uint32_t kMaxAllSpans = 16384;

struct Table {
  std::atomic<const CodeLoops*> slots[kSlots];
  std::atomic<std::uint32_t> codes_used;
  std::atomic<std::uint32_t> spans_used;
  CodeLoops codes[kMaxCodes];
  std::atomic<std::uint64_t> marks[kMaxCodes];  // CodeFingerprint of each: addresses are used again
  LoopSpan spans[kMaxAllSpans];

  std::atomic<std::uint64_t>& mark_of(const CodeLoops* code) { return marks[code - codes]; }
};

constinit std::atomic<Table*> g_table{nullptr};

/// In a slot whose code object went away when there was no room for the next one at its address:
/// what lies behind this slot is still found.
constexpr CodeLoops kGone{};

Table* table() {
  Table* known = g_table.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  void* memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // Zero pages are an empty table: nothing is touched here.
  auto* made = static_cast<Table*>(memory);
  if (g_table.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
  munmap(memory, sizeof(Table));
  return known;
}

struct ByteCode {
  const std::uint8_t* at = nullptr;
  std::int32_t bytes = 0;
};

ByteCode byte_code(const Offsets& at, std::uint64_t code) {
  std::uint64_t start = code + at.code_bytes;
  std::uint64_t holder = code;
  std::uint64_t unit = 2;
  if (at.code_bytes == kNone) {
    holder = base::load<std::uint64_t>(reinterpret_cast<const void*>(code + at.code_string));
    if (!plausible(holder)) return {};
    start = holder + at.bytes_data;
    unit = 1;
  }
  const auto length =
      base::load<std::uint64_t>(reinterpret_cast<const void*>(holder + at.bytes_length));
  if (length >= 0x3fffffff) return {};
  return {reinterpret_cast<const std::uint8_t*>(start), static_cast<std::int32_t>(length * unit)};
}

/// Takes `amount` entries; kNone: there are not as many left.
std::uint32_t take(std::atomic<std::uint32_t>& used, std::uint32_t amount, std::uint32_t room) {
  std::uint32_t first = used.load(std::memory_order_relaxed);
  do {
    if (room - first < amount) return kNone;
  } while (!used.compare_exchange_weak(first, first + amount, std::memory_order_relaxed));
  return first;
}

/// Reads the code object; what cannot be read is remembered, too. Null: no room for one more.
/// `stale` was at the same address and is given back, marked anew, where it serves as well.
const CodeLoops* find(Table& table, const Offsets& at, std::uint64_t address, std::uint64_t mark,
                      const CodeLoops* stale) {
  // Reading is dear: not at every operator for nothing.
  if (stale == nullptr && table.codes_used.load(std::memory_order_relaxed) == kMaxCodes)
    return nullptr;
  LoopScan scan;
  const auto* code = reinterpret_cast<const std::byte*>(address);
  const ByteCode bytes = byte_code(at, address);
  scan_loops(at.minor, bytes.at, bytes.bytes, &scan);
  CodeLoops found{};
  found.address = address;
  found.id = code_id(LocalMemory{}, at, address, code);
  found.handlers = scan.handlers;
  found.known = scan.known;
  found.yields = scan.yields;
  // No compiler made it, so it has no number; its file and its name are the same text.
  found.inserted = at.code_version != kNone && CodeFingerprint(at).version(code) == 0 &&
                   base::load<std::uint64_t>(code + code_name_offset(at)) ==
                       base::load<std::uint64_t>(code + at.code_file);
  found.count = static_cast<std::uint16_t>(scan.count);
  if (stale != nullptr && stale->is_equivalent(found)) {
    table.mark_of(stale).store(mark, std::memory_order_relaxed);
    return stale;
  }
  const std::uint32_t place = take(table.codes_used, 1, kMaxCodes);
  if (place == kNone) return nullptr;
  const std::uint32_t spans = take(table.spans_used, scan.count, kMaxAllSpans);
  if (spans == kNone) {
    found.handlers = LoopScan{}.handlers;
    found.known = found.yields = false;
    found.count = 0;
  } else {
    std::memcpy(&table.spans[spans], scan.spans, scan.count * sizeof(LoopSpan));
  }
  found.spans = &table.spans[spans % kMaxAllSpans];
  table.marks[place].store(mark, std::memory_order_relaxed);
  return new (&table.codes[place]) CodeLoops(found);
}

}  // namespace

void unmap_code_loops() {
  Table* all = g_table.exchange(nullptr, std::memory_order_acq_rel);
  if (all != nullptr) munmap(all, sizeof(Table));
}

const CodeLoops* code_loops(std::uint64_t code) {
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  Table* all = runtime == nullptr || !plausible(code) ? nullptr : table();
  if (all == nullptr) return nullptr;
  const std::uint64_t mark = CodeFingerprint(runtime->offsets).of(code);
  const std::uint64_t start = code * 0x9e3779b97f4a7c15ULL >> 40;
  for (std::uint64_t i = 0; i < kProbes; ++i) {
    std::atomic<const CodeLoops*>& slot = all->slots[(start + i) % kSlots];
    const CodeLoops* known = slot.load(std::memory_order_acquire);  // pairs with the exchange below
    if (known != nullptr && known->address != code) continue;
    if (known == nullptr || all->mark_of(known).load(std::memory_order_relaxed) != mark) {
      const CodeLoops* found = find(*all, runtime->offsets, code, mark, known);
      if (found == nullptr) {
        // What is at this address now is unknown from here on, too.
        if (known != nullptr)
          slot.compare_exchange_strong(known, &kGone, std::memory_order_acq_rel);
        return nullptr;
      }
      // Another thread may have found the same, or another code for this slot.
      if (found == known || slot.compare_exchange_strong(known, found, std::memory_order_acq_rel))
        known = found;
      if (known->address != code) continue;
    }
    return known->known ? known : nullptr;
  }
  return nullptr;
}

}  // namespace gpuprof::python
