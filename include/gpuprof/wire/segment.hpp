// SPDX-License-Identifier: Apache-2.0
//
// Layout of the shared segment: header, plan, statistics, ring buffer directory, ring buffers.
//
// Context:  any
// Owns:     nothing: the daemon makes the memfd and maps it through Boost.Interprocess, the
//           target maps the same bytes with mmap
// Promises: fixed offsets within one wire major; every field either immutable after set-up or an
//           atomic with one writer
// Not here: how a ring buffer works (ring_buffer.hpp), socket messages (messages.hpp)
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gpuprof/wire/ring_buffer.hpp"
#include "gpuprof/wire/version.hpp"

namespace gpuprof::wire {

inline constexpr std::uint64_t kSegmentMagic = 0x314745'53'50475047ULL;

/// Distance from this object to what it points to, as boost::interprocess::offset_ptr stores it:
/// 1 is null. The daemon constructs offset_ptrs, the target reads them as this.
struct RelPtr {
  std::int64_t distance;

  template <typename T>
  T* resolve(void* base, std::uint64_t total_bytes) const {
    if (distance == 1) return nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    const std::uintptr_t at = self + static_cast<std::uintptr_t>(distance);
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    if (at < begin || at % alignof(T) != 0) return nullptr;
    if (total_bytes < sizeof(T) || at - begin > total_bytes - sizeof(T)) return nullptr;
    return reinterpret_cast<T*>(at);
  }
};
static_assert(sizeof(RelPtr) == 8);

/// What one ring buffer is doing. Free → claimed by a target thread → retired by the agent when the
/// thread is gone → freed by the daemon once drained.
enum class RingState : std::uint32_t { kFree = 0, kActive = 1, kRetired = 2 };

struct RingEntry {
  RelPtr ring;                       // RingHeader; the ring follows it
  std::uint64_t capacity_bytes;      // of the ring, power of two, immutable
  std::atomic<std::uint32_t> state;  // RingState
  std::atomic<std::uint32_t> tid;
  std::atomic<std::uint32_t> role;  // RingRole
  std::uint32_t reserved;
};
static_assert(sizeof(RingEntry) == 32);

/// Counters by name; both sides address them by this enum. Writers are in the target unless
/// the comment says otherwise.
enum class Counter : std::uint32_t {
  kDroppedRingFull = 0,  // records
  kDroppedNoRing,        // records of threads that got no ring buffer
  kDroppedTooLong,       // records longer than a frame
  kThreadsWithoutRing,   // threads
  kSamplesTaken,
  kSamplesBlocked,
  kSamplesWhileOff,     // signals that arrived while not sampling
  kSamplesNoStackRoom,  // skipped: too little stack left on the thread
  kUnwindFaults,        // unwinds that ended in a fault
  kUnwindTruncated,
  kPythonFaults,
  kPythonPartial,
  kStackTableFull,
  kThreadsBlockingSignal,  // threads that block the sampling signal
  kThreadsNoTrigger,       // threads for which no trigger could be made
  kBlockedTorn,            // samples of blocked threads discarded: the thread resumed meanwhile
  kCuptiDropped,           // cuptiActivityGetNumDroppedRecords
  kCuptiBadTimestamp,      // records with zero or reversed times
  kCuptiIncomplete,        // end == 0 on a forced flush
  kCuptiUnknownKind,       // buffers cut short at a record of unknown kind
  kCuptiNoBuffer,          // buffers refused because the pool was empty
  kCuptiBuffers,           // buffers completed
  kCuptiRecords,           // records read
  kCuptiAfterStop,         // completions after we had stopped
  kLaunchCallbacks,
  kNvtxCalls,
  kWorkerCpuNs,  // CPU time of the worker thread
  kFlushes,
  kGraphBudgetStops,
  kCuptiUnknownBytes,      // from a record of unknown kind to the end of its buffer
  kFinalFlushTimedOut,     // 1: the program ended before CUPTI had delivered what it held
  kMessagesUnsent,         // messages that the daemon has not taken (yet)
  kFlushTimeouts,          // flushes of CUPTI whose end was awaited in vain
  kCuptiEnableDelayNs,     // time in which CUPTI should have been switched on but was not
  kWaitsInterruptedAgain,  // waiting calls that the sampling signal cut short, except each thread's
                           // first
  kProgramCuptiCallsMissed,  // calls of the program's own CUPTI profiler that were not followed
  kSamplesDuringFork,        // samples and launch stacks suppressed by a fork under way
  kForksWithoutPause,        // forks of the program before which the worker did not pause in time
  kGraphNodesSkipped,        // records of graph nodes, after a kGraphBudgetStops
  kCount
};
inline constexpr std::uint32_t kCounterSlots = 64;
static_assert(static_cast<std::uint32_t>(Counter::kCount) <= kCounterSlots);

/// Record kinds counted separately in Stats::dropped_of_kind; all present ones are below.
inline constexpr std::uint32_t kKindSlots = 64;

struct Stats {
  std::atomic<std::uint64_t> counters[kCounterSlots];
  std::atomic<std::uint64_t> state;               // AgentState
  std::atomic<std::uint64_t> steps;               // agent's own step counter
  std::atomic<std::uint64_t> sampler;             // SamplerKind in force
  std::atomic<std::uint64_t> effective_rate_mhz;  // milli-samples per second and running thread
  std::atomic<std::uint64_t> heartbeat_ns;        // last turn of the worker, CLOCK_MONOTONIC
  std::atomic<std::uint64_t> bye;                 // ByeReason + 1 once the process ends by itself
  std::atomic<std::uint64_t> parked;              // 1 while the worker is parked for a fork
  std::uint64_t reserved[7];
  /// Records that found no room in their ring buffer, by Kind: the breakdown of kDroppedRingFull.
  std::atomic<std::uint64_t> dropped_of_kind[kKindSlots];
};

enum class AgentState : std::uint32_t {
  kArmed = 0,
  kCounting = 1,
  kRecording = 2,
  kCountingActivityEnabled = 3,
  kStopped = 4,
};

inline constexpr std::uint64_t kNever = ~0ULL;

/// What begins a step, chosen by the daemon. A user's own ProfilerStep# ranges always begin one.
enum class StepRule : std::uint32_t {
  kNone = 0,          // nothing is counted yet; every iteration is reported as a LoopMark
  kLoop = 1,          // the iterations of one loop whose own instruction moved, and each entry
  kLoopInferred = 2,  // all iterations of one loop
  kOpEnd = 3,         // the end of each top-level operator of one name
};

/// What the daemon wants the agent to do; the agent reads it at each step and each tick.
struct Plan {
  std::atomic<std::uint32_t> mode;      // AgentState wanted outside step windows
  std::atomic<std::uint32_t> sequence;  // grows with each change
  std::atomic<std::uint64_t> on_step;   // recording from the begin of this step (agent's counter)
  std::atomic<std::uint64_t> off_step;  // … to the begin of this one; kNever: no limit
  std::atomic<std::uint64_t> drain_ns;  // last time the daemon drained, CLOCK_MONOTONIC
  /// Shared futex word the worker sleeps on: whoever has news for it adds one and wakes it
  /// (wake_agent). Written by both sides.
  std::atomic<std::uint32_t> wake;
  /// What the agent counts as a step where that has to be detected (StepSource kAuto, kLoop or
  /// kOptimizer): the daemon's choice, once it has seen enough. step_key is written first.
  std::atomic<std::uint32_t> step_rule;  // StepRule
  std::atomic<std::uint64_t> step_key;   // LoopDef::id, or StringDef::id of an operator's name
  /// The thread whose iterations count; 0: any. Once it has ended, the agent puts the next thread
  /// that runs the loop in its place.
  std::atomic<std::uint32_t> step_tid;
  /// What is omitted of what Config requests, to reduce the overhead: kThrottle… (throttle.hpp). It
  /// only grows. Written before `sequence`.
  std::atomic<std::uint32_t> throttle;
  std::uint64_t reserved;
};
static_assert(sizeof(Plan) == 64);

/// Makes the agent's worker take a turn now. Any context, either side: one system call.
inline void wake_agent(Plan& plan) {
  plan.wake.fetch_add(1, std::memory_order_release);
  // Not private: the daemon wakes through its own mapping of the same page.
  ::syscall(SYS_futex, &plan.wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// At offset 0 of the segment.
struct SegmentHeader {
  std::uint64_t magic;  // kSegmentMagic, written last
  std::uint16_t wire_major, wire_minor;
  std::uint32_t epoch;  // which daemon owns it; grows at a hand-over
  std::uint64_t total_bytes;
  std::uint32_t ring_count;
  std::uint32_t large_rings;  // the first of the directory: callback ring buffers prefer them
  RelPtr plan, stats, directory;
  std::uint64_t reserved;
};
static_assert(sizeof(SegmentHeader) == 64);

/// Default sizes; --buffer-size scales the counts.
inline constexpr std::uint64_t kDeliveryRingBytes = 8u << 20;
inline constexpr std::uint64_t kLargeRingBytes = 1u << 20;
inline constexpr std::uint64_t kSmallRingBytes = 64u << 10;
inline constexpr std::uint32_t kDefaultLargeRings = 40;
inline constexpr std::uint32_t kDefaultSmallRings = 224;

/// How many of the large ring buffers, from the first on, are reserved for threads that deliver
/// what CUPTI has recorded of all others since the last flush: CUPTI's own, our flush thread, and
/// one to spare. Megabytes arrive there within a millisecond.
constexpr std::uint32_t delivery_rings(std::uint32_t large_rings) {
  constexpr std::uint32_t kForDelivery = 3;
  return large_rings <= 2 * kForDelivery ? 0 : kForDelivery;
}
/// Capacity of a ring buffer, in bytes.
constexpr std::uint64_t ring_bytes(std::uint32_t ring, std::uint32_t large_rings) {
  if (ring >= large_rings) return kSmallRingBytes;
  return ring < delivery_rings(large_rings) ? kDeliveryRingBytes : kLargeRingBytes;
}

/// Where things lie, computed from the numbers of ring buffers alone.
struct SegmentLayout {
  std::uint64_t plan_offset, stats_offset, directory_offset, rings_offset, total_bytes;
};
/// The ring starts this far after its RingHeader: a page of its own, so that an idle ring buffer
/// costs one page at most.
inline constexpr std::uint64_t kRingDataOffset = 4096;

/// From SegmentLayout::rings_offset to the header of a ring buffer; for the one after the last: to
/// the end of the segment.
constexpr std::uint64_t ring_offset(std::uint32_t ring, std::uint32_t large_rings) {
  const std::uint32_t delivery = delivery_rings(large_rings);
  const std::uint32_t large = ring < large_rings ? ring : large_rings;
  const std::uint32_t largest = large < delivery ? large : delivery;
  return ring * kRingDataOffset + largest * kDeliveryRingBytes +
         (large - largest) * kLargeRingBytes + (ring - large) * kSmallRingBytes;
}

constexpr SegmentLayout segment_layout(std::uint32_t large_rings, std::uint32_t small_rings) {
  SegmentLayout at{};
  at.plan_offset = 4096;
  at.stats_offset = 8192;
  at.directory_offset = 12288;
  const std::uint32_t rings = large_rings + small_rings;
  at.rings_offset =
      base::align_up(at.directory_offset + std::uint64_t{rings} * sizeof(RingEntry), 4096);
  at.total_bytes = at.rings_offset + ring_offset(rings, large_rings);
  return at;
}

}  // namespace gpuprof::wire
