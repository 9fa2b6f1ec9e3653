// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's operators: begins and ends of one process matched.
//
// Context:  daemon (ingest thread)
// Owns:     the open operators, PyTorch's numbers of threads
// Promises: every operator gets an id of the same numbers as ranges; one that ends on another
//           thread, or while a later one is open, is flagged as crossing; bounded depth
// Not here: steps (step_finder.hpp), which launch belongs to an operator (correlation_table.hpp)
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/ingest/ranges/pending_events.hpp"
#include "daemon/ingest/ranges/recent_map.hpp"

namespace gpuprof::ingest {

class OperatorTracker {
 public:
  OperatorTracker(Definitions& names, model::EventSink& sink, LossCounters& losses,
                  const Lifetime& life, EventCounts& counts, const Limits& limits,
                  model::RangeId& next_id)
      : names_(names),
        sink_(sink),
        losses_(losses),
        life_(life),
        counts_(counts),
        limits_(limits),
        next_id_(next_id) {}

  /// The ring buffer has a new owner: what the last one left open is closed unfinished.
  void on_ring_opened(const RingInfo& ring, std::uint64_t ts_ns);
  /// Records of this ring buffer were dropped since `ts_ns`: what is open may have ended.
  void ring_lost(const RingInfo& ring, std::uint64_t ts_ns);

  /// @param parent Innermost range or operator open on the thread.
  /// @param ranges Ranges open on the thread.
  void begin(const RingInfo& ring, const wire::OpBegin& begin, model::RangeId parent,
             std::size_t ranges);
  void end(const RingInfo& ring, const wire::OpEnd& end);
  /// A launch on the ring buffer's thread names the innermost open one, as OpEnd::outer does.
  void on_launch(const RingInfo& ring, std::uint32_t op_id, std::uint64_t ts_ns) {
    apply_open_hint(thread(ring), wire::OpEnd{ts_ns, 0, 0, op_id});
  }
  /// The ring buffer's thread has been read up to `ts_ns`: what ended on others until then is
  /// closed.
  void advance_to(const RingInfo& ring, std::uint64_t ts_ns) {
    if (!waiting_.empty()) resolve_pending(thread(ring), ts_ns);
  }

  /// An operator open on a thread.
  struct Innermost {
    model::RangeId id = 0;  // 0: there is none
    std::uint64_t start_ns = 0;
    std::uint32_t scope = 0;
  };
  /// Operators open on the ring buffer's thread.
  std::size_t depth(const RingInfo& ring) const {
    return ring.index < threads_.size() ? threads_[ring.index].open.size() : 0;
  }
  /// The operator a launch names; without a name (0, kOpUnknown) the innermost one. Not one that is
  /// too deep: its nearest outer one that is not.
  Innermost innermost(const RingInfo& ring, std::uint32_t op_id) const;

  /// Calls `tell(tid, begin_ns, end_ns)` for each operator that is open. Until `end_ns`, at most
  /// `now_ns`, it surely is.
  template <typename Tell>
  void for_each_open(std::uint64_t now_ns, const Tell& tell) const {
    for (const Thread& one : threads_)
      for (const Open& open : one.open)
        tell(one.tid, open.op.start_ns, known_open_until(open, now_ns));
  }

  /// All ring buffers have been read since the call before this one.
  void round_done(std::uint64_t now_ns);

  /// Writes a copy of what is open, as it is at `ts_ns`.
  void copy_open(std::uint64_t ts_ns);

  /// Closes, as unfinished, everything that began before `ts_ns`.
  void close_before(std::uint64_t ts_ns);

 private:
  struct Open {
    model::Operator op;
    std::uint64_t object;
    std::uint32_t op_id;
    std::uint32_t forward_thread;
    // Its end may be among what has been dropped since; 0: it is open. What ended unseen is drawn
    // up to here: it was open until then.
    std::uint64_t uncertain_since_ns = 0;
    std::uint64_t copied_ns = 0;  // end of its newest copy
  };
  struct Thread {
    std::uint32_t tid = 0;
    bool has_uncertain = false;  // some may be
    std::vector<Open> open;
  };

  /// An end on another thread than its begin, which may not have been read yet.
  struct PendingEnd {
    std::uint64_t object;
    std::uint64_t ts_ns;
    std::uint32_t tid;
  };
  static constexpr std::size_t kMaxWaiting = 4096;
  using OpenAt = std::vector<Open>::iterator;

  Thread& thread(const RingInfo& ring);
  void complete(Open& open);
  void close(Open& open, std::uint64_t ts_ns, std::uint32_t end_tid, std::uint32_t flags);
  static OpenAt find(Thread& thread, std::uint64_t object, std::uint64_t end_ns,
                     std::uint32_t op_id = 0);
  void end_at(Thread& thread, OpenAt at, std::uint64_t end_ns);
  static std::uint64_t known_open_until(const Open& open, std::uint64_t ts_ns);
  void close_at_last_known(const Thread& thread, Open& open, std::uint64_t ts_ns);
  void apply_open_hint(Thread& thread, const wire::OpEnd& end);
  void close_on_other_thread(Thread& thread, OpenAt at, const PendingEnd& end);
  void resolve_pending(Thread& thread, std::uint64_t ts_ns);
  void resolve_oldest();

  Definitions& names_;
  model::EventSink& sink_;
  LossCounters& losses_;
  const Lifetime& life_;
  EventCounts& counts_;
  const Limits& limits_;
  model::RangeId& next_id_;
  std::vector<Thread> threads_;  // by ring buffer
  std::uint64_t last_round_ns_ = 0;
  std::vector<PendingEnd> waiting_;  // oldest first
  // By PyTorch's number, which no later thread gets: a program may make threads for as long as it
  // runs.
  RecentMap<std::uint32_t, std::uint32_t, 65'536> os_threads_;
};

}  // namespace gpuprof::ingest
