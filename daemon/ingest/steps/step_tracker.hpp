// SPDX-License-Identifier: Apache-2.0
//
// Step marks of one process become steps, and news for the session.
//
// Context:  daemon (ingest thread)
// Owns:     the marks of the current round, kernel marks that wait for their name's match
// Promises: marks reach the listener sorted by number, a round after they came at the latest; a
//           step whose end was never seen is not written
// Not here: which loop is the step (step_finder.hpp), what the session does about it
//           (daemon/session/schedule)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/ingest/ranges/pending_events.hpp"
#include "daemon/ingest/steps/step_boundaries.hpp"
#include "gpuprof/wire/segment.hpp"

namespace gpuprof::ingest {

/// What the session hears from a process while its ring buffers are drained.
class StepListener {
 public:
  /// A step begins. Numbers grow from 0; some may be missing after drops. Many may come at once,
  /// of times long past: what a step is was not known then.
  /// @param label What the file calls it.
  virtual void step_began(std::uint64_t number, std::uint64_t ts_ns, std::uint64_t label) = 0;
  /// @param pause  What follows, up to the next one, is of no step.
  virtual void step_ended(std::uint64_t number, std::uint64_t ts_ns, bool pause) = 0;
  /// First launch or operator.
  virtual void first_activity(std::uint64_t ts_ns) = 0;
  /// What the target shall count as a step from now on (wire::Plan).
  virtual void step_rule(wire::StepRule rule, std::uint64_t key, std::uint32_t tid) = 0;
  /// What the steps are is known now, or is another thing than it was: a clause for people.
  virtual void steps_described(const std::string& what) = 0;

 protected:
  ~StepListener() = default;
};

/// A step found afterwards.
struct FoundStep {
  std::uint64_t begin_ns, end_ns;  // end 0: where the next begins
  std::uint32_t tid;
};

class StepTracker {
 public:
  StepTracker(model::EventSink& sink, LossCounters& losses, const Limits& limits,
              const Lifetime& life, EventCounts& counts, StepListener* listener)
      : sink_(sink),
        losses_(losses),
        limits_(limits),
        life_(life),
        counts_(counts),
        listener_(listener) {}

  void add(const RingInfo& ring, const wire::StepMark& mark);
  void add(const RingInfo& ring, const wire::UnmatchedLaunch& mark);
  void add(const wire::KernelNameMatch& match) { matches_.push_back(match); }

  /// What is written of the steps counted among operators from now on.
  /// @param mark  Source of the target's marks of them.
  void set_step_source(wire::StepSource mark, wire::StepSource source, std::uint32_t confidence,
                       model::StringId where) {
    mark_source_ = static_cast<std::uint32_t>(mark);
    source_ = static_cast<std::uint32_t>(source);
    confidence_ = confidence;
    where_ = where;
  }
  /// A step that the target did not count itself. Marks that came before it come first.
  void add_found(const FoundStep& step);
  /// Steps that were found too late to be reported one by one keep their numbers.
  void skip(std::uint64_t count) {
    offset_ += count;
    next_ += count;
  }

  /// Number of the step after the newest.
  std::uint64_t next() const { return next_; }
  StepBoundaries& spans() { return spans_; }

  void round_done();
  /// Nothing follows: the step that is open ends with its last operator.
  void finish();

  /// Steps the target's own counter did not count: number here = number there + offset.
  std::uint64_t offset() const { return offset_; }

 private:
  struct Mark {
    std::uint64_t number, ts_ns, label;
    std::uint32_t tid, source, end;
  };
  struct Unmatched {
    std::uint64_t ts_ns, name_id;
    std::uint32_t tid;
  };

  void apply_matches();
  void apply_pending(std::vector<Mark>& marks);
  void apply(const Mark& mark);
  std::uint64_t close_before(const Mark& mark);
  void report_gap(const Mark& mark);
  void close(std::uint64_t ts_ns);

  model::EventSink& sink_;
  LossCounters& losses_;
  const Limits& limits_;
  const Lifetime& life_;
  EventCounts& counts_;
  StepListener* listener_;
  StepBoundaries spans_;
  std::vector<Mark> marks_, aged_;
  std::vector<Unmatched> unmatched_;
  std::vector<wire::KernelNameMatch> matches_;
  std::uint64_t offset_ = 0;
  std::uint64_t next_ = 0;
  std::uint32_t mark_source_ = 0, source_ = 0, confidence_ = 100;
  model::StringId where_ = 0;
  bool numbered_ = false;  // the target's counter has begun
  bool open_ = false, open_in_loop_ = false;
  std::uint64_t open_mark_ns_ = 0;  // its begin, as it was marked
  model::Step current_{};
};

}  // namespace gpuprof::ingest
