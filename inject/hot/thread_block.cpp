// SPDX-License-Identifier: Apache-2.0
//
// Claims and gives back thread blocks and lanes without locks.
//
// Context:  signal
// Owns:     the table of blocks (mapped once, never unmapped)
// Promises: a claim is a compare-and-swap per slot; a thread that gets nothing is counted once
#include "inject/hot/thread_block.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/claim.hpp"

namespace gpuprof::hot {

constinit thread_local Here t_here{};

namespace {

std::atomic<ThreadBlock*> g_blocks{nullptr};
constinit std::atomic<std::uint32_t> g_next_owner{1};

ThreadBlock* claim_block(std::uint32_t tid, std::uint32_t epoch) {
  ThreadBlock* blocks = g_blocks.load(std::memory_order_acquire);
  if (blocks == nullptr) return nullptr;
  // Start at a place of the thread's own: 200 threads do not walk the same 200 taken slots.
  for (std::uint32_t i = 0; i < kMaxThreadBlocks; ++i) {
    ThreadBlock& block = blocks[(tid + i) % kMaxThreadBlocks];
    std::uint32_t free = 0;
    if (block.tid.load(std::memory_order_relaxed) != 0 ||
        !block.tid.compare_exchange_strong(free, tid, std::memory_order_acq_rel))
      continue;
    block.epoch = epoch;
    block.index = (tid + i) % kMaxThreadBlocks;
    block.open_op = 0;
    block.ticks = Ticks{};
    block.owner = g_next_owner.fetch_add(1, std::memory_order_relaxed);
    reset(block.callback);
    reset(block.signal);
    return &block;
  }
  count(wire::Counter::kThreadsWithoutLane);
  return nullptr;
}

}  // namespace

void reset(Outlet& outlet) {
  outlet.lane = wire::LaneWriter();
  outlet.entry = 0;
  outlet.refused = false;
  outlet.stacks.forget_all();
  outlet.strings.forget_all();
  outlet.codes.forget_all();
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

std::uint32_t this_tid() {
  if (t_here.tid == 0) t_here.tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  return t_here.tid;
}

ThreadBlock* claim_thread(std::uint32_t epoch) {
  if (!alive()) return nullptr;
  // A child of fork inherits the parent's cached id.
  t_here.tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  // Decided before the claim: a signal in the middle finds "no block" and drops its sample
  // instead of claiming a second block.
  t_here.epoch = epoch;
  t_here.block = nullptr;
  t_here.block = claim_block(t_here.tid, epoch);
  return t_here.block;
}

bool thread_has_ended(std::uint32_t tid) {
  const int saved = errno;
  const bool ended = ::syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
  errno = saved;
  return ended;
}

void retire_threads(bool (*gone)(std::uint32_t tid, void* arg), void* arg) {
  ThreadBlock* blocks = g_blocks.load(std::memory_order_acquire);
  if (blocks == nullptr) return;
  for (std::uint32_t i = 0; i < kMaxThreadBlocks; ++i) {
    ThreadBlock& block = blocks[i];
    const std::uint32_t tid = block.tid.load(std::memory_order_acquire);
    if (tid == 0 || !gone(tid, arg)) continue;
    retire_lane(block.callback);
    retire_lane(block.signal);
    block.tid.store(0, std::memory_order_release);
  }
}

void forget_threads_after_fork() {
  // The table is ours alone here; dropping the pages makes it a table of free blocks again.
  ThreadBlock* blocks = g_blocks.load(std::memory_order_acquire);
  if (blocks != nullptr) madvise(blocks, sizeof(ThreadBlock) * kMaxThreadBlocks, MADV_DONTNEED);
  t_here.block = nullptr;
  t_here.tid = 0;
}

}  // namespace gpuprof::hot
