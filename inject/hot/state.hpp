// SPDX-License-Identifier: Apache-2.0
//
// The one piece of process-wide state that callback and signal code may read.
//
// Context:  signal | callback (read), worker (write)
// Owns:     nothing: what it points to comes and goes with sessions (segment_lifetime.hpp)
// Promises: constant-initialised, trivially destructible: valid before constructors and after
//           destructors
// Not here: who decides (inject/agent)
//
// A session ends while threads of the program are anywhere. What they may access, and why it is
// there:
//   owner_page      any time, any context         the page is the library's own (shared_pages.hpp)
//   plan, stats     any time, any context: count, The pointers never change once set. Between
//                   wake_worker, step_begin,      sessions zeroed memory is mapped there: what is
//                   CUPTI's buffer callbacks,     counted is forgotten, whoever is woken does not
//                   torch's loops, exit()         exist
//   segment, rings, inside a Guard                unpublish_segment() waits for everybody inside;
//   their numbers   (prepare_block, claim_ring),  each block has a copy for those it waits for in
//                   or the worker                 vain
//   a ThreadBlock,  inside a Guard                the same
//   its rings
//   ThreadSlot      any time, its own thread;     the library's own memory; nobody gets the place
//                   the worker                    of a thread that lives
// The worker itself unpublishes, so nothing disappears while it is at work (retire_threads, ticks).
// Components add: module snapshots, stacks of handlers and the frame cache by SnapshotReader
// (sample/modules/module_snapshot.hpp), tables of Python code by the Guard.
#pragma once

#include <atomic>
#include <cstdint>

#include "gpuprof/wire/messages.hpp"
#include "gpuprof/wire/segment.hpp"

namespace gpuprof::hot {

/// What is being recorded right now, as bits of State::on.
inline constexpr std::uint32_t kOnSamples = 1;
inline constexpr std::uint32_t kOnNvtx = 2;          // ranges are recorded
inline constexpr std::uint32_t kOnNvtxSteps = 4;     // the step source looks at NVTX
inline constexpr std::uint32_t kOnCuda = 8;          // launch records with stacks
inline constexpr std::uint32_t kOnKernelSteps = 16;  // the step source looks at kernel names
inline constexpr std::uint32_t kOnLaunchStacks = 32;
inline constexpr std::uint32_t kOnOperators = 64;     // PyTorch's operators are recorded
inline constexpr std::uint32_t kOnOpSteps = 128;      // steps are looked for among them
inline constexpr std::uint32_t kOnAllocations = 256;  // PyTorch's memory records

struct State {
  /// Points to a page that reads 1 here and 0 in any forked child (MADV_WIPEONFORK).
  std::atomic<const std::uint32_t*> owner_page{nullptr};
  std::atomic<std::uint32_t> on{0};
  /// Grows with each new segment; a ThreadBlock of another epoch is not used.
  std::atomic<std::uint32_t> epoch{0};
  std::atomic<std::uint8_t*> segment{nullptr};
  std::uint64_t segment_bytes = 0;
  wire::RingEntry* rings = nullptr;
  std::uint32_t ring_count = 0;
  std::uint32_t large_rings = 0;
  wire::Stats* stats = nullptr;  // null before the first session only
  wire::Plan* plan = nullptr;
  /// Whether threads measure what they spend in our code (overhead_meter.hpp), and what reading the
  /// clock adds to it. Set before the segment is published.
  std::atomic<bool> measures_overhead{false};
  std::atomic<std::uint32_t> clock_cost_ns{0};
  /// The worker has been parked since a fork, and waits for whoever comes by to resume it.
  std::atomic<bool> parked_by_fork{false};
  /// Grows when callbacks on CUDA graphs end: the end of captures under way is then missed.
  std::atomic<std::uint32_t> graph_callback_gaps{0};
  /// Kernel thread id of our worker; its own CUDA calls are not recorded.
  std::atomic<std::uint32_t> worker_tid{0};
  /// The same for the thread that flushes CUPTI while records are expected; 0: there is none.
  std::atomic<std::uint32_t> flush_thread_tid{0};
  /// That thread is being created, or has not yet stored its id: a new thread may be it.
  std::atomic<bool> flush_thread_starting{false};
};

extern State g_state;

/// True in the process that owns the segment, false in forked children and before set-up.
inline bool is_owner_process() {
  const std::uint32_t* page = g_state.owner_page.load(std::memory_order_acquire);
  return page != nullptr && *static_cast<const volatile std::uint32_t*>(page) == 1;
}

/// Threads of our own: they are not sampled, and their CUDA calls are not recorded.
inline bool is_our_thread(std::uint32_t tid) {
  return tid == g_state.worker_tid.load(std::memory_order_relaxed) ||
         tid == g_state.flush_thread_tid.load(std::memory_order_relaxed);
}

inline bool on(std::uint32_t bits) {
  return (g_state.on.load(std::memory_order_relaxed) & bits) != 0;
}

/// Adds to a named counter in the shared segment. Any context.
inline void count(wire::Counter which, std::uint64_t amount = 1) {
  wire::Stats* stats = g_state.stats;
  if (stats != nullptr)
    stats->counters[static_cast<std::uint32_t>(which)].fetch_add(amount, std::memory_order_relaxed);
}

/// Counts one record that found no room in its ring buffer. Any context.
inline void count_drop(wire::Kind kind) {
  count(wire::Counter::kDroppedRingFull);
  wire::Stats* stats = g_state.stats;
  const auto slot = static_cast<std::uint32_t>(kind);
  if (stats != nullptr && slot < wire::kKindSlots)
    stats->dropped_of_kind[slot].fetch_add(1, std::memory_order_relaxed);
}

/// Makes the worker check the plan and the counters soon. One system call, errno kept.
void wake_worker();

}  // namespace gpuprof::hot
