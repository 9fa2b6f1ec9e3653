// SPDX-License-Identifier: Apache-2.0
//
// Publishes snapshots and frees old ones after the last reader (two sides, one epoch).
//
// Context:  signal | callback | worker
// Owns:     the snapshots, each one mapping
#include "inject/sample/modules/module_snapshot.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/clock.hpp"
#include "inject/hot/worker/sleep.hpp"
#include "inject/sample/unwind/registered_phdr.hpp"

namespace gpuprof::sample {

namespace {

constinit std::atomic<Snapshot*> g_current{nullptr};
// Readers count themselves on the side of the epoch they entered in.
constinit std::atomic<std::uint32_t> g_epoch{0};
constinit std::atomic<std::uint32_t> g_users[2]{};
// Worker only. Retired since the last change of epoch, and before it.
constinit frames::SharedMapping* g_retired = nullptr;
constinit frames::SharedMapping* g_draining = nullptr;

std::uint32_t free_list(frames::SharedMapping* list) {
  std::uint32_t freed = 0;
  while (list != nullptr) {
    frames::SharedMapping* next = list->next;
    ::syscall(SYS_munmap, list, list->map_bytes);
    list = next;
    ++freed;
  }
  return freed;
}

std::uint32_t length(const frames::SharedMapping* list) {
  std::uint32_t count = 0;
  for (; list != nullptr; list = list->next) ++count;
  return count;
}

const SnapshotSegment* segment_at(const Snapshot* snapshot, std::uintptr_t address) {
  if (snapshot == nullptr) return nullptr;
  std::uint32_t low = 0, high = snapshot->segment_count;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (snapshot->segments[middle].begin <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0 || address >= snapshot->segments[low - 1].end) return nullptr;
  return &snapshot->segments[low - 1];
}

}  // namespace

SnapshotReader::SnapshotReader() {
  for (;;) {
    const std::uint32_t epoch = g_epoch.load(std::memory_order_seq_cst);
    side_ = epoch & 1;
    g_users[side_].fetch_add(1, std::memory_order_seq_cst);
    // The worker may have moved on in between and found this side empty.
    if (g_epoch.load(std::memory_order_seq_cst) == epoch) return;
    g_users[side_].fetch_sub(1, std::memory_order_seq_cst);
  }
}

SnapshotReader::~SnapshotReader() {
  // release: everything read from the snapshot happens before; pairs with reclaim_snapshots.
  g_users[side_].fetch_sub(1, std::memory_order_release);
}

const Snapshot* current_snapshot() { return g_current.load(std::memory_order_seq_cst); }

const SnapshotModule* find_module(const Snapshot* snapshot, std::uintptr_t address) {
  const SnapshotSegment* segment = segment_at(snapshot, address);
  return segment == nullptr ? nullptr : &snapshot->modules[segment->module];
}

bool is_module_code(const Snapshot* snapshot, std::uintptr_t address) {
  const SnapshotSegment* segment = segment_at(snapshot, address);
  return segment != nullptr && segment->code;
}

int iterate_snapshot_phdr(int (*callback)(dl_phdr_info*, std::size_t, void*), void* data) {
  // struct dwarf_callback_data of the libunwind we build ourselves begins with the address.
  const auto address = base::load<std::uintptr_t>(data);
  const SnapshotModule* module = find_module(current_snapshot(), address);
  if (module == nullptr) return iterate_registered_phdr(address, callback, data);
  if (!module->has_table) return 0;
  dl_phdr_info info = module->info;
  return callback(&info, sizeof info, data);
}

void publish_snapshot(Snapshot* snapshot) {
  Snapshot* old = g_current.exchange(snapshot, std::memory_order_seq_cst);
  if (old != nullptr)
    retire_mapping(old);
  else
    reclaim_snapshots();
}

void retire_mapping(frames::SharedMapping* mapping) {
  mapping->next = g_retired;
  g_retired = mapping;
  reclaim_snapshots();
}

std::uint32_t reclaim_snapshots() {
  for (int turn = 0; turn < 2; ++turn) {
    const std::uint32_t epoch = g_epoch.load(std::memory_order_relaxed);
    if (g_draining == nullptr && g_retired != nullptr) {
      // Readers that enter from here on see the newer snapshot.
      g_draining = g_retired;
      g_retired = nullptr;
      g_epoch.store(epoch + 1, std::memory_order_seq_cst);
    }
    const std::uint32_t old_side = (g_epoch.load(std::memory_order_relaxed) & 1) ^ 1;
    if (g_draining == nullptr || g_users[old_side].load(std::memory_order_seq_cst) != 0) break;
    free_list(g_draining);
    g_draining = nullptr;
  }
  return length(g_retired) + length(g_draining);
}

std::uint32_t snapshot_readers() {
  return g_users[0].load(std::memory_order_seq_cst) + g_users[1].load(std::memory_order_seq_cst);
}

bool wait_for_snapshot_readers(std::uint32_t deadline_ms) {
  const std::uint64_t end_ns = base::mono_ns() + deadline_ms * std::uint64_t{1'000'000};
  while (snapshot_readers() != 0) {
    if (base::mono_ns() >= end_ns) return false;
    hot::sleep_ns(20'000);
  }
  return true;
}

void reset_snapshot_readers() {
  g_users[0].store(0, std::memory_order_relaxed);
  g_users[1].store(0, std::memory_order_relaxed);
}

}  // namespace gpuprof::sample
