// SPDX-License-Identifier: Apache-2.0
//
// NVTX ranges: begins and ends of one process matched into whole ranges.
//
// Context:  daemon (ingest thread)
// Owns:     the open ranges
// Promises: every range gets an id of its own, never 0; one that ends while a later one is open
//           is flagged as crossing; bounded depth
// Not here: which launch belongs to a range (correlation_table.hpp keeps innermost() at the launch)
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "daemon/ingest/ranges/pending_events.hpp"

namespace gpuprof::ingest {

/// Of marks that are ours; NVTX's domains have small numbers.
inline constexpr std::uint32_t kGpuprofDomain = 0x67707266;

class RangeTracker {
 public:
  RangeTracker(Definitions& names, PendingEvents& held, LossCounters& losses, const Limits& limits,
               model::RangeId& next_id)
      : names_(names), held_(held), losses_(losses), limits_(limits), next_id_(next_id) {}

  /// The ring buffer has a new owner: what the last one left open is closed unfinished.
  void ring_opened(const RingInfo& ring, std::uint64_t ts_ns);
  /// Records of this ring buffer were dropped: begins and ends may be missing, nothing open is
  /// trusted.
  void ring_lost(const RingInfo& ring, std::uint64_t ts_ns);

  /// @param operators Operators open on the thread.
  void push(const RingInfo& ring, const wire::RangePush& push, model::RangeId parent,
            std::size_t operators);
  void pop(const RingInfo& ring, const wire::RangePop& pop);
  void start(const RingInfo& ring, const wire::RangeStart& start);
  void end(const RingInfo& ring, const wire::RangeEnd& end);
  void mark(const RingInfo& ring, const wire::NvtxMark& mark);
  /// A mark in kGpuprofDomain.
  void remark(std::string_view text, std::uint32_t tid, std::uint64_t ts_ns);

  /// Push/pop ranges open on the ring buffer's thread.
  std::size_t depth(const RingInfo& ring) const {
    return ring.index < threads_.size() ? threads_[ring.index].open.size() : 0;
  }
  /// Innermost of them that is not too deep, and when it began; 0 = none.
  model::RangeId innermost(const RingInfo& ring, std::uint64_t* start_ns) const;
  /// A launch with a stack happened on the ring buffer's thread: open ranges without one take it.
  void launched(const RingInfo& ring, model::StackId stack);

  /// Writes a copy of what is open, as it is at `ts_ns`.
  void copy_open(std::uint64_t ts_ns);

  /// Closes, as unfinished, everything that began before `ts_ns`.
  void close_before(std::uint64_t ts_ns);

 private:
  struct Thread {
    std::uint32_t tid = 0;
    std::uint32_t too_deep = 0;  // pushes that were not kept; their pops come first
    std::vector<model::Range> open;
  };

  Thread& thread(const RingInfo& ring);
  void close(model::Range range, std::uint64_t ts_ns, std::uint32_t end_tid, std::uint32_t flags);
  void close_all(Thread& thread, std::uint64_t before_ns, std::uint64_t ts_ns);

  Definitions& names_;
  PendingEvents& held_;
  LossCounters& losses_;
  const Limits& limits_;
  model::RangeId& next_id_;
  std::vector<Thread> threads_;  // by ring buffer
  std::unordered_map<std::uint64_t, model::Range> started_;
};

}  // namespace gpuprof::ingest
