// SPDX-License-Identifier: Apache-2.0
//
// One segment after the other, each with a grace period at its end.
//
// Context:  worker
//
// A thread marks itself (ThreadSlot::inside) before it looks whether a segment is published
// (State::owner_page); the worker takes that away before it looks at the marks. Each of the two
// then sees the other, if the processor keeps to the order: membarrier(2) makes every running
// thread do so here, and the threads pay nothing for it.
#include "inject/hot/segment_lifetime.hpp"

#include <linux/membarrier.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/shared_pages.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/sleep.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/messages/agent.hpp"

namespace gpuprof::hot {

namespace {

/// A segment's place in the address space that somebody may still write to.
struct LeakedSegment {
  std::uint8_t* base = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t epoch = 0;
};

// Only a thread that is held inside by a debugger, or died there, makes one: never many.
constexpr std::uint32_t kMaxKept = 8;
constinit LeakedSegment g_leaked[kMaxKept];
constinit std::uint32_t g_leaked_total = 0, g_leaked_reported = 0;

void membarrier_all_threads() {
  const auto membarrier = [](int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; };
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
      membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    return;
  if (membarrier(MEMBARRIER_CMD_GLOBAL)) return;
  // Forbidden here. No processor keeps a store to itself for as long as this.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  sleep_ns(100'000'000);
}

bool is_marked(const ThreadSlot& slot) {
  // acquire: what the thread did inside happens before; pairs with ~Guard
  return slot.inside[0].load(std::memory_order_acquire) != 0 ||
         slot.inside[1].load(std::memory_order_acquire) != 0;
}

struct InsideSearch {
  std::uint32_t epoch;  // 0: any
  bool found = false;
};

void check_slot(ThreadSlot& slot, void* argument) {
  InsideSearch& look = *static_cast<InsideSearch*>(argument);
  if (!is_marked(slot)) return;
  const std::uint32_t epoch = slot.epoch.load(std::memory_order_relaxed);
  // Whoever is marked and of no epoch has yet to find out that nothing is published.
  if (epoch == 0 || (look.epoch != 0 && epoch != look.epoch)) return;
  if (!thread_exited(slot.tid.load(std::memory_order_relaxed))) look.found = true;
}

bool somebody_inside(std::uint32_t epoch) {
  InsideSearch look{epoch};
  for_each_slot(check_slot, &look);
  return look.found;
}

bool wait_until_empty(std::uint32_t epoch, std::uint32_t deadline_ms) {
  const std::uint64_t end_ns = base::mono_ns() + deadline_ms * std::uint64_t{1'000'000};
  std::uint64_t pause_ns = 20'000;
  while (somebody_inside(epoch)) {
    if (base::mono_ns() >= end_ns || worker_park_wanted()) return false;
    sleep_ns(pause_ns);
    pause_ns = std::min<std::uint64_t>(pause_ns * 2, 5'000'000);
  }
  return true;
}

// What the thread knew of a session whose segment is gone. Nobody is in there.
void forget_block(ThreadSlot& slot, void*) {
  if (is_marked(slot)) return;
  slot.block = nullptr;
  slot.epoch.store(0, std::memory_order_relaxed);
}

// Memory that takes what is written and keeps no page of the daemon's. It replaces the segment at
// once: whoever is inside never finds nothing there.
void keep(std::uint8_t* base, std::uint64_t bytes, std::uint32_t epoch) {
  ::syscall(SYS_mmap, base, bytes, PROT_READ | PROT_WRITE,
            MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ++g_leaked_total;
  for (LeakedSegment& kept : g_leaked) {
    if (kept.base != nullptr) continue;
    kept = LeakedSegment{base, bytes, epoch};
    return;
  }
}

void free_leaked() {
  for (LeakedSegment& kept : g_leaked) {
    if (kept.base == nullptr || somebody_inside(kept.epoch)) continue;
    munmap(kept.base, kept.bytes);
    kept = LeakedSegment{};
  }
}

void forget_pointers() {
  State& state = g_state;
  state.segment.store(nullptr, std::memory_order_relaxed);
  state.segment_bytes = 0;
  state.rings = nullptr;
  state.ring_count = state.large_rings = 0;
}

}  // namespace

bool publish_segment(const MappedSegment& segment, int fd) {
  free_leaked();
  const auto offset = [&segment](const void* at) {
    return static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(at) - segment.base);
  };
  SharedPages window;
  if (!map_thread_blocks()) return false;
  if (!map_shared_pages(fd, offset(segment.plan), offset(segment.stats), &window)) {
    if (no_thread_inside()) unmap_thread_blocks();
    return false;
  }
  State& state = g_state;
  state.segment_bytes = segment.bytes;
  state.rings = segment.rings;
  state.ring_count = segment.ring_count;
  state.large_rings = segment.large_rings;
  // Always the same, and looked at by threads that are in no session.
  if (state.stats != window.stats) state.stats = window.stats;
  if (state.plan != window.plan) state.plan = window.plan;
  state.segment.store(segment.base, std::memory_order_release);
  state.epoch.fetch_add(1, std::memory_order_acq_rel);
  if (*window.alive != 1) *window.alive = 1;
  state.owner_page.store(window.alive, std::memory_order_release);  // pairs with is_owner_process
  return true;
}

UnpublishResult unpublish_segment(std::uint32_t deadline_ms) {
  State& state = g_state;
  std::uint8_t* base = state.segment.load(std::memory_order_relaxed);
  if (base == nullptr) return UnpublishResult::kNothing;
  const std::uint64_t bytes = state.segment_bytes;
  const std::uint32_t epoch = state.epoch.load(std::memory_order_relaxed);
  state.on.store(0, std::memory_order_relaxed);
  state.owner_page.store(nullptr, std::memory_order_seq_cst);
  membarrier_all_threads();
  const bool empty = wait_until_empty(epoch, deadline_ms);
  // First, for a fork in between.
  forget_pointers();
  if (empty)
    munmap(base, bytes);
  else
    keep(base, bytes, epoch);
  unmap_shared_pages();
  for_each_slot(forget_block, nullptr);
  free_leaked();
  retire_threads([](std::uint32_t tid, void*) { return thread_exited(tid); }, nullptr);
  if (no_thread_inside()) unmap_thread_blocks();
  return empty ? UnpublishResult::kUnmapped : UnpublishResult::kLeaked;
}

bool no_thread_inside() { return !somebody_inside(0); }

void report_leaked_segments() {
  if (g_leaked_total == g_leaked_reported) return;
  g_leaked_reported = g_leaked_total;
  char text[256];
  if (g_leaked_total == 1)
    snprintf(text, sizeof text, "%s", messages::agent::kSessionMemoryKept);
  else
    snprintf(text, sizeof text, messages::agent::kSessionMemoryKeptOften, g_leaked_total);
  send_notice(wire::Feature::kGeneral, wire::NoticeLevel::kInfo, 0, text);
}

void drop_segment_after_fork() {
  State& state = g_state;
  state.on.store(0, std::memory_order_relaxed);
  state.owner_page.store(nullptr, std::memory_order_release);
  std::uint8_t* base = state.segment.load(std::memory_order_relaxed);
  const std::uint64_t bytes = state.segment_bytes;
  unmap_shared_pages();
  forget_pointers();
  state.epoch.fetch_add(1, std::memory_order_acq_rel);
  reset_threads_after_fork();
  for (LeakedSegment& kept : g_leaked) {
    if (kept.base != nullptr) munmap(kept.base, kept.bytes);
    kept = LeakedSegment{};
  }
  if (base != nullptr) munmap(base, bytes);
}

}  // namespace gpuprof::hot
