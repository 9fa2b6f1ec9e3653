// SPDX-License-Identifier: Apache-2.0
//
// Wire records of one process in, model events out.
//
// Context:  daemon (ingest thread)
// Owns:     what it must remember of one process to understand its next record
// Promises: bounded memory whatever the target sends; every event goes out with converted times
//           and dense ids; what cannot be understood is counted by reason
// Not here: the parts: clocks, names, ranges, launches, joins, steps, each in its file
#pragma once

#include <cstdint>

#include "daemon/ingest/clocks/clock_report.hpp"
#include "daemon/ingest/clocks/clock_tracker.hpp"
#include "daemon/ingest/correlation/correlation_table.hpp"
#include "daemon/ingest/correlation/correlator.hpp"
#include "daemon/ingest/correlation/range_history.hpp"
#include "daemon/ingest/decode/decoder.hpp"
#include "daemon/ingest/decode/definitions.hpp"
#include "daemon/ingest/decode/lifetime.hpp"
#include "daemon/ingest/decode/limits.hpp"
#include "daemon/ingest/decode/loss_counters.hpp"
#include "daemon/ingest/decode/ring_drops.hpp"
#include "daemon/ingest/ranges/operator_tracker.hpp"
#include "daemon/ingest/ranges/pending_events.hpp"
#include "daemon/ingest/ranges/range_tracker.hpp"
#include "daemon/ingest/steps/step_finder.hpp"
#include "daemon/ingest/steps/step_tracker.hpp"

namespace gpuprof::ingest {

class Assembler {
 public:
  /// @param sink     Receives the events; outlives this.
  /// @param listener Hears of steps and the first launch; may be null.
  Assembler(model::EventSink& sink, Listener* listener, const Limits& limits = {});
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  /// The process's own reading of two clocks when it said hello.
  void seed_clock(std::uint64_t mono_ns, std::uint64_t real_ns) { clocks_.seed(mono_ns, real_ns); }

  /// Steps are looked for among operators, as --step says.
  void look_for_steps(const StepSearch& search) { finder_.look_for(search); }
  /// The time for looking is over, or no longer wanted. @param last  Nothing follows either.
  void choose_steps(std::uint64_t now_ns, bool last) {
    finder_.choose_now(now_ns, last ? Patience::kNone : Patience::kSome);
  }
  /// Loops told of so far.
  std::size_t loops_seen() const { return finder_.loops(); }
  /// There may be steps, but what they are is not known.
  bool steps_undecided() const { return finder_.undecided(); }

  /// What lies outside the process's life is counted and goes no further.
  void seed_life(std::uint64_t start_ns) {
    life_.begins(start_ns);
    losses_.round(start_ns);
  }
  /// Before lanes are drained: nothing in them can be younger than this.
  void round_begins(std::uint64_t now_ns) {
    life_.has_reached(now_ns);
    losses_.round(now_ns);
    round_ns_ = now_ns;
  }
  /// What a lane has dropped ever, by its own count. Behind its records.
  void dropped(const Lane& lane, std::uint64_t count) { drops_.seen(lane, count, round_ns_); }
  void lane_ended(const Lane& lane, std::uint64_t dropped) {
    drops_.ended(lane, dropped, round_ns_);
  }
  /// A file is about to be written, or nothing follows: what lanes dropped and have not told of is
  /// lost by now.
  void book_drops() { drops_.book(); }

  // One record each, in the order of its lane; called by Decoder::drain.
  void on(const Lane& lane, const wire::LaneOpen& r, const Tail&) {
    ranges_.lane_opened(lane, r.ts_ns);
    operators_.lane_opened(lane, r.ts_ns);
    owners_.now_in(lane.tid, r.ts_ns, 0);
  }
  void on(const Lane& lane, const wire::Lost& r, const Tail&);
  void on(const Lane&, const wire::StringDef& r, const Tail& tail) {
    names_.define(r, tail);
    finder_.define(r, tail);
  }
  void on(const Lane&, const wire::StackDef& r, const Tail& tail) {
    names_.define(r, tail);
    finder_.define(r, tail);
  }
  void on(const Lane&, const wire::PyCodeDef& r, const Tail& tail) {
    names_.define(r, tail);
    finder_.define(r, tail);
  }
  void on(const Lane& lane, const wire::Sample& r, const Tail&);
  void on(const Lane& lane, const wire::StepMark& r, const Tail&) {
    finder_.counted(lane, r);
    steps_.add(lane, r);
  }
  void on(const Lane& lane, const wire::KernelMark& r, const Tail&) { steps_.add(lane, r); }
  void on(const Lane&, const wire::NameMatch& r, const Tail&) { steps_.add(r); }
  void on(const Lane& lane, const wire::RangePush& r, const Tail&) {
    ranges_.push(lane, r, innermost(lane, 0), operators_.depth(lane));
    turned(lane, r.ts_ns);
  }
  void on(const Lane& lane, const wire::RangePop& r, const Tail&) {
    ranges_.pop(lane, r);
    turned(lane, r.ts_ns);
  }
  void on(const Lane& lane, const wire::RangeStart& r, const Tail&) { ranges_.start(lane, r); }
  void on(const Lane& lane, const wire::RangeEnd& r, const Tail&) { ranges_.end(lane, r); }
  void on(const Lane& lane, const wire::MarkEvent& r, const Tail&) { ranges_.mark(lane, r); }
  void on(const Lane&, const wire::InputsDef& r, const Tail& tail) { names_.define(r, tail); }
  void on(const Lane&, const wire::TorchModuleDef& r, const Tail& tail) { names_.define(r, tail); }
  void on(const Lane& lane, const wire::OpBegin& r, const Tail&);
  void on(const Lane& lane, const wire::OpEnd& r, const Tail&);
  void on(const Lane& lane, const wire::Allocation& r, const Tail&);
  void on(const Lane&, const wire::LoopDef& r, const Tail&) { finder_.define(r); }
  void on(const Lane& lane, const wire::StackLoops& r, const Tail& tail) {
    finder_.define(lane, r, tail);
  }
  void on(const Lane& lane, const wire::LoopMark& r, const Tail&);
  void on(const Lane& lane, const wire::Launch& r, const Tail&);
  void on(const Lane& lane, const wire::ApiCall& r, const Tail&) { joins_.add(r, place(lane)); }
  void on(const Lane& lane, const wire::KernelExec& r, const Tail&) { joins_.add(r, place(lane)); }
  void on(const Lane& lane, const wire::MemCopy& r, const Tail&) { joins_.add(r, place(lane)); }
  void on(const Lane& lane, const wire::MemSet& r, const Tail&) { joins_.add(r, place(lane)); }
  void on(const Lane& lane, const wire::Sync& r, const Tail&) { joins_.add(r, place(lane)); }
  void on(const Lane& lane, const wire::GraphExec& r, const Tail&) { joins_.add(r, place(lane)); }
  void on(const Lane& lane, const wire::Overhead& r, const Tail&) { joins_.add(r, place(lane)); }
  void on(const Lane&, const wire::ContextInfo& r, const Tail&);
  void on(const Lane&, const wire::StreamInfo& r, const Tail&);
  void on(const Lane&, const wire::DeviceInfo& r, const Tail&);
  void on(const Lane& lane, const wire::Jit& r, const Tail&);
  void on(const Lane&, const wire::ClockSync& r, const Tail&);

  /// All lanes were drained once. Joins, sorts and sends what waited for that.
  void round_done(std::uint64_t now_ns);

  /// A file is about to be written: nothing waits for a clock in the next rounds.
  void hurry() { joins_.hurry(); }

  /// What CUPTI owes from before then is not expected any more.
  void forget_answers(std::uint64_t ts_ns) { launches_.answers().forget(ts_ns); }

  /// Recording went off at `ts_ns`: once everything of that time is drained (two rounds), ranges
  /// still open from before are closed as unfinished.
  void recording_stopped(std::uint64_t ts_ns);

  /// A mark of our own, on the row of a thread.
  void remark(std::string_view text, std::uint32_t tid, std::uint64_t ts_ns) {
    ranges_.remark(text, tid, ts_ns);
  }

  /// Writes the losses known so far, so that they are told apart from later ones.
  void write_losses(std::uint64_t now_ns);

  /// A window is cut: writes copies of ranges and operators that are open, for its file.
  void copy_open(std::uint64_t now_ns) {
    if (now_ns == copied_ns_) return;  // for another window already
    copied_ns_ = now_ns;
    ranges_.copy_open(now_ns);
    operators_.copy_open(now_ns);
  }

  /// The process is gone or the session ends; nothing follows. Sends everything.
  void finish(std::uint64_t now_ns);

  LossBook& losses() { return losses_; }
  const LossBook& losses() const { return losses_; }
  const EventCounts& counts() const { return counts_; }
  /// The process only serves another one (code_roles.hpp).
  bool serves() const { return names_.serves(); }
  const Clocks& clocks() const { return clocks_; }
  /// Launches that CUPTI has told nothing of, and since when it may have told nothing.
  std::uint64_t undelivered_launches() const { return launches_.undelivered(); }
  /// What CUPTI was asked for since recording went on, and what it gave.
  const Answers& answers() const { return launches_.answers(); }
  std::uint64_t last_delivery_ns() const { return last_delivery_ns_; }
  const Steps& steps() const { return steps_; }

 private:
  void active_since(std::uint64_t ts_ns);
  model::RangeId innermost(const Lane& lane, std::uint32_t op_id) const;
  model::RangeId owner(const Lane& lane, std::uint32_t op_id) const;
  void turned(const Lane& lane, std::uint64_t ts_ns);
  Place place(const Lane& lane) const { return clocks_.place(lane.index == clock_lane_); }

  model::EventSink& sink_;
  Listener* listener_;
  Limits limits_;
  Lifetime life_;
  EventCounts counts_;
  LossBook losses_;
  LaneDrops drops_{losses_};
  Clocks clocks_;
  Names names_;
  Held held_;
  model::RangeId next_range_ = 1;
  Ranges ranges_;
  Operators operators_;
  Launches launches_;
  OwnerTrail owners_;
  Joins joins_;
  Steps steps_;
  StepFinder finder_;
  ClockReport clock_report_;
  std::uint32_t clock_lane_ = ~0U;  // where readings come from
  bool active_ = false;
  std::uint64_t round_ns_ = 0;
  std::uint64_t stopped_ns_ = 0;
  std::uint32_t rounds_to_close_ = 0;
  std::uint64_t losses_written_ns_ = 0;
  std::uint64_t copied_ns_ = 0;
  std::uint64_t last_delivery_ns_ = 0;  // the agent reads the clock whenever it asks for records
};

}  // namespace gpuprof::ingest
