// SPDX-License-Identifier: Apache-2.0
//
// Claims and gives back thread blocks and ring buffers without locks.
//
// Context:  signal
// Owns:     the places of threads, for ever; the table of blocks, while a segment is published
// Promises: a claim is a compare-and-swap per slot; a thread that gets nothing is counted once
#include "inject/hot/thread_block.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/ring_claim.hpp"

namespace gpuprof::hot {

constinit thread_local ThreadLocal t_local{};

namespace {

constinit std::atomic<ThreadBlock*> g_blocks{nullptr};
constinit std::atomic<std::uint32_t> g_next_owner{1};
constinit ThreadSlot g_slots[kMaxThreadBlocks];

bool is_present(std::uint32_t epoch) {
  return is_owner_process() && g_state.epoch.load(std::memory_order_acquire) == epoch;
}

void retire(ThreadSlot& slot) {
  // acquire: pairs with the end of the thread's last Guard
  for (std::atomic<std::uint8_t>& mark : slot.inside) (void)mark.load(std::memory_order_acquire);
  const bool present =
      g_state.segment.load(std::memory_order_relaxed) != nullptr &&
      slot.epoch.load(std::memory_order_relaxed) == g_state.epoch.load(std::memory_order_relaxed);
  if (slot.block != nullptr && present) {
    retire_ring(slot.block->callback);
    retire_ring(slot.block->signal);
  }
  slot.block = nullptr;
  slot.step_ops.store(0, std::memory_order_relaxed);
  slot.epoch.store(0, std::memory_order_relaxed);
  // A thread that was ended in the middle of our code.
  for (std::atomic<std::uint8_t>& mark : slot.inside) mark.store(0, std::memory_order_relaxed);
  slot.tid.store(0, std::memory_order_release);
}

}  // namespace

void reset(RingProducer& producer) {
  producer.ring = wire::RingWriter();
  producer.entry = 0;
  producer.no_ring = false;
  producer.overhead = OverheadMeter();
  producer.stacks.clear_all();
  producer.strings.clear_all();
  producer.codes.clear_all();
}

bool map_thread_blocks() {
  if (g_blocks.load(std::memory_order_acquire) != nullptr) return true;
  void* memory = mmap(nullptr, sizeof(ThreadBlock) * kMaxThreadBlocks, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Zero pages are a valid table of free blocks: nothing is touched here.
  g_blocks.store(static_cast<ThreadBlock*>(memory), std::memory_order_release);
  return true;
}

void unmap_thread_blocks() {
  ThreadBlock* blocks = g_blocks.exchange(nullptr, std::memory_order_acq_rel);
  if (blocks != nullptr) munmap(blocks, sizeof(ThreadBlock) * kMaxThreadBlocks);
}

void for_each_slot(void (*visitor)(ThreadSlot& slot, void* argument), void* argument) {
  for (ThreadSlot& slot : g_slots)
    if (slot.tid.load(std::memory_order_acquire) != 0) visitor(slot, argument);
}

std::uint32_t current_tid() {
  if (t_local.tid == 0) t_local.tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  return t_local.tid;
}

ThreadSlot* claim_slot(std::uint32_t tid) {
  if (!is_owner_process()) return nullptr;
  // Noted before the claim: a signal in the middle finds no place and drops its sample instead of
  // claiming a second one.
  const std::uint32_t epoch = g_state.epoch.load(std::memory_order_acquire);
  const bool asked = t_local.asked == epoch;
  t_local.asked = epoch;
  if (!asked) {
    // A child of fork inherits the parent's cached id.
    if (tid == 0) tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    t_local.tid = tid;
    // Start at a place of the thread's own: 200 threads do not walk the same 200 taken slots.
    for (std::uint32_t i = 0; i < kMaxThreadBlocks; ++i) {
      ThreadSlot& slot = g_slots[(tid + i) % kMaxThreadBlocks];
      std::uint32_t free = 0;
      if (slot.tid.load(std::memory_order_relaxed) == 0 &&
          slot.tid.compare_exchange_strong(free, tid, std::memory_order_acq_rel))
        return t_local.slot = &slot;
    }
    count(wire::Counter::kThreadsWithoutRing);
  }
  count(wire::Counter::kDroppedNoRing);
  return nullptr;
}

bool prepare_block(ThreadSlot& slot) {
  const std::uint32_t epoch = g_state.epoch.load(std::memory_order_acquire);
  if (slot.block != nullptr) slot.block = nullptr;
  // Before the block is there: a signal in the middle drops its sample.
  slot.epoch.store(epoch, std::memory_order_relaxed);
  // The mark may be older than this epoch. Now either the worker sees that this thread is inside
  // with it, or we that it is over (segment_lifetime.cpp).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_present(epoch)) return false;
  const auto index = static_cast<std::uint32_t>(&slot - g_slots);
  ThreadBlock& block = g_blocks.load(std::memory_order_acquire)[index];
  block.directory = RingDirectory{g_state.segment.load(std::memory_order_relaxed),
                                  g_state.segment_bytes,
                                  g_state.rings,
                                  g_state.ring_count,
                                  g_state.large_rings,
                                  epoch};
  std::atomic_thread_fence(std::memory_order_acquire);
  // Held up here for longer than the worker waits, it may have copied half of the next one.
  if (!is_present(epoch)) return false;
  block.tid = slot.tid.load(std::memory_order_relaxed);
  block.index = index;
  block.open_op = 0;
  block.open_call = {};
  block.graphs = {};
  slot.step_ops.store(0, std::memory_order_relaxed);
  block.clock = TscClock{};
  block.owner = g_next_owner.fetch_add(1, std::memory_order_relaxed);
  reset(block.callback);
  reset(block.signal);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  slot.block = &block;
  return true;
}

void reset_this_thread() { t_local = ThreadLocal{}; }

bool thread_exited(std::uint32_t tid) {
  const int saved = errno;
  const bool ended = ::syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
  errno = saved;
  return ended;
}

void retire_threads(bool (*gone)(std::uint32_t tid, void* arg), void* arg) {
  for (ThreadSlot& slot : g_slots) {
    const std::uint32_t tid = slot.tid.load(std::memory_order_acquire);
    if (tid != 0 && gone(tid, arg)) retire(slot);
  }
}

void reset_threads_after_fork() {
  // All of it is ours alone here.
  for (ThreadSlot& slot : g_slots) {
    if (slot.tid.load(std::memory_order_relaxed) == 0) continue;
    slot.block = nullptr;
    slot.epoch.store(0, std::memory_order_relaxed);
    for (std::atomic<std::uint8_t>& mark : slot.inside) mark.store(0, std::memory_order_relaxed);
    slot.tid.store(0, std::memory_order_relaxed);
  }
  t_local = ThreadLocal{};
  unmap_thread_blocks();
}

}  // namespace gpuprof::hot
