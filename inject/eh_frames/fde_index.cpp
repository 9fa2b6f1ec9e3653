// SPDX-License-Identifier: Apache-2.0
//
// Reads registered tables and makes the index.
//
// Context:  worker
// Owns:     when it was made last
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/clock.hpp"
#include "inject/eh_frames/table_state.hpp"

namespace gpuprof::frames {

namespace {

constexpr std::uint32_t kMaxEntries = 1u << 17;
constexpr std::uint64_t kSoonNs = 5'000'000;
// Reading takes at most one in so many parts of a processor.
constexpr std::uint64_t kShare = 50;
constexpr std::uintptr_t kPage = 4096;

struct State {
  std::uint32_t seen = 0;  // g_table_changes
  std::uint64_t next_ns = 0;
  std::uint64_t read[kMaxTables]{};  // serials of those that were
};
constinit State g_state;

// The page that was read last.
struct Page {
  std::uintptr_t begin = 0;
  bool good = false;
  unsigned char bytes[kPage];
};

struct IndexBuilder {
  Page page;
  FdeIndex* index;
  std::uint32_t table;
  std::uint64_t serial;
};

bool read_page(Page& page, std::uintptr_t begin) {
  if (page.begin == begin) return page.good;
  const iovec to{page.bytes, kPage}, from{reinterpret_cast<void*>(begin), kPage};
  page.begin = begin;
  page.good = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(kPage);
  return page.good;
}

bool read_here(void* from, std::uintptr_t address, void* to, std::size_t bytes) {
  Page& page = static_cast<IndexBuilder*>(from)->page;
  auto* at = static_cast<unsigned char*>(to);
  while (bytes != 0) {
    const std::uintptr_t into = address % kPage;
    const std::size_t here = std::min<std::size_t>(bytes, kPage - into);
    if (!read_page(page, address - into)) return false;
    memcpy(at, page.bytes + into, here);
    at += here;
    address += here;
    bytes -= here;
  }
  return true;
}

bool add(IndexBuilder& build, const Fde& entry) {
  if (build.index->count == kMaxEntries) return false;
  build.index->entries()[build.index->count++] = {entry, build.serial, build.table};
  return true;
}

constexpr std::size_t bytes_for(std::uint32_t entries) {
  return base::align_up(sizeof(FdeIndex) + entries * sizeof(IndexEntry), kPage);
}

FdeIndex* map_index() {
  void* memory = mmap(nullptr, bytes_for(kMaxEntries), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* index = static_cast<FdeIndex*>(memory);
  index->map_bytes = bytes_for(kMaxEntries);
  return index;
}

// What an earlier index holds of tables that are the same still.
void take_over(IndexBuilder& build, const FdeIndex* before) {
  for (std::uint32_t i = 0; before != nullptr && i < before->count; ++i) {
    const IndexEntry& one = before->entries()[i];
    build.table = one.table;
    build.serial = g_tables[one.table].serial.load(std::memory_order_acquire);
    if (build.serial == one.serial && !add(build, one.entry)) return;
  }
}

void read_new(IndexBuilder& build) {
  const std::uint32_t count = g_table_count.load(std::memory_order_acquire);
  for (build.table = 0; build.table < count; ++build.table) {
    const RegisteredTable& table = g_tables[build.table];
    build.serial = table.serial.load(std::memory_order_acquire);
    const std::uintptr_t begin = table.begin.load(std::memory_order_acquire);
    if (build.serial == 0 || build.serial == g_state.read[build.table]) continue;
    g_state.read[build.table] = build.serial;
    const SectionReader reader{
        read_here,
        [](void* from, const Fde& entry) { return add(*static_cast<IndexBuilder*>(from), entry); },
        &build};
    if (begin != 0) read_eh_frame(begin, reader);
  }
}

// Of two that tell about one address the older has been left behind by the program.
void sort(FdeIndex& index) {
  IndexEntry* const all = index.entries();
  IndexEntry* const end = all + index.count;
  std::sort(all, end, [](const IndexEntry& a, const IndexEntry& b) {
    return a.entry.begin != b.entry.begin ? a.entry.begin < b.entry.begin : a.serial < b.serial;
  });
  std::uint32_t kept = 0;
  for (const IndexEntry* one = all; one != end; ++one) {
    bool wanted = true;
    while (kept != 0 && wanted && all[kept - 1].entry.end > one->entry.begin) {
      wanted = all[kept - 1].serial <= one->serial;
      if (wanted) --kept;
    }
    if (wanted) all[kept++] = *one;
  }
  index.count = kept;
}

}  // namespace

bool rebuild_index(std::uint64_t now_ns, void (*retire)(SharedMapping*)) {
  const std::uint32_t changes = g_table_changes.load(std::memory_order_acquire);
  if (changes == g_state.seen || now_ns < g_state.next_ns) return false;
  const std::uint64_t begun_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  static constinit IndexBuilder build{};
  build.page.begin = 0;
  build.index = map_index();
  if (build.index == nullptr) return false;
  g_state.seen = changes;
  take_over(build, g_index.load(std::memory_order_relaxed));
  read_new(build);
  sort(*build.index);
  FdeIndex* before = g_index.exchange(build.index, std::memory_order_seq_cst);
  if (before != nullptr) retire(before);
  g_state.next_ns =
      now_ns + std::max(kSoonNs, kShare * (base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns));
  return true;
}

void drop_index(void (*retire)(SharedMapping*)) {
  FdeIndex* before = g_index.exchange(nullptr, std::memory_order_seq_cst);
  if (before != nullptr) retire(before);
  g_state.seen = 0;
  g_state.next_ns = 0;
  memset(g_state.read, 0, sizeof g_state.read);
}

}  // namespace gpuprof::frames
