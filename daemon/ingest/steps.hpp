// SPDX-License-Identifier: Apache-2.0
//
// Step marks of one process become steps, and news for the session.
//
// Context:  daemon (ingest thread)
// Owns:     the marks of the current round, kernel marks that wait for their name's match
// Promises: marks reach the listener sorted by number, a round after they came at the latest; a
//           step whose end was never seen is not written
// Not here: what the session does about it (daemon/session/schedule)
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/ingest/held.hpp"

namespace gpuprof::ingest {

/// What the session hears from a process while its lanes are drained.
class Listener {
 public:
  /// A step begins. Numbers grow; some may be missing after drops.
  virtual void step_began(std::uint64_t number, std::uint64_t ts_ns, std::uint32_t source) = 0;
  virtual void step_ended(std::uint64_t number, std::uint64_t ts_ns) = 0;
  /// First launch or operator.
  virtual void first_activity(std::uint64_t ts_ns) = 0;

 protected:
  ~Listener() = default;
};

class Steps {
 public:
  Steps(model::EventSink& sink, LossBook& losses, const Limits& limits, const Lifetime& life,
        EventCounts& counts, Listener* listener)
      : sink_(sink),
        losses_(losses),
        limits_(limits),
        life_(life),
        counts_(counts),
        listener_(listener) {}

  void add(const Lane& lane, const wire::StepMark& mark);
  void add(const Lane& lane, const wire::KernelMark& mark);
  void add(const wire::NameMatch& match) { matches_.push_back(match); }

  void round_done();

  /// Steps that ran before the target's own counter began (kernel: marks matched afterwards):
  /// number here = number there + offset.
  std::uint64_t offset() const { return offset_; }

 private:
  struct Mark {
    std::uint64_t number, ts_ns;
    std::uint32_t tid, source, end;
  };
  struct Unmatched {
    std::uint64_t ts_ns, name_id;
    std::uint32_t tid;
  };

  void apply_matches();
  void apply(const Mark& mark);
  void close(std::uint64_t ts_ns);

  model::EventSink& sink_;
  LossBook& losses_;
  const Limits& limits_;
  const Lifetime& life_;
  EventCounts& counts_;
  Listener* listener_;
  std::vector<Mark> marks_, ripe_;
  std::vector<Unmatched> unmatched_;
  std::vector<wire::NameMatch> matches_;
  std::uint64_t offset_ = 0;
  bool numbered_ = false;  // the target's counter has begun
  bool open_ = false;
  model::Step current_{};
};

}  // namespace gpuprof::ingest
