// SPDX-License-Identifier: Apache-2.0
//
// Wire records of one process in, model events out.
//
// Context:  daemon (ingest thread)
// Owns:     what it must remember of one process to understand its next record
// Promises: bounded memory whatever the target sends; every event goes out with converted times
//           and dense ids; what cannot be understood is counted by reason
// Not here: the parts: clocks, definitions, ranges, correlation, steps, each in its file
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
  Assembler(model::EventSink& sink, StepListener* listener, const Limits& limits = {});
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  /// The clock snapshot in the process's Hello.
  void seed_clock(std::uint64_t mono_ns, std::uint64_t real_ns) {
    clock_tracker_.seed(mono_ns, real_ns);
  }

  /// Steps are looked for among operators, as --step says.
  void set_step_search(const StepSearch& search) { finder_.set_search(search); }
  /// The time for looking is over, or no longer wanted. @param last  Nothing follows either.
  void select_steps(std::uint64_t now_ns, bool last) {
    finder_.try_select(now_ns, last ? SearchPhase::kEnded : SearchPhase::kTimedOut);
  }
  /// Loops reported so far.
  std::size_t loop_count() const { return finder_.loops(); }
  /// There may be steps, but what they are is not known.
  bool steps_undecided() const { return finder_.undecided(); }

  /// What lies outside the process's life is counted and goes no further.
  void set_process_start(std::uint64_t start_ns) {
    life_.set_start(start_ns);
    losses_.begin_round(start_ns);
  }
  /// Before ring buffers are drained: nothing in them can be younger than this.
  void begin_round(std::uint64_t now_ns) {
    life_.set_now(now_ns);
    losses_.begin_round(now_ns);
    round_ns_ = now_ns;
  }
  /// What a ring buffer has dropped ever, by its own count. Behind its records.
  void on_ring_dropped(const RingInfo& ring, std::uint64_t count) {
    ring_drops_.update_counter(ring, count, round_ns_);
  }
  void on_ring_retired(const RingInfo& ring, std::uint64_t dropped) {
    ring_drops_.on_ring_retired(ring, dropped, round_ns_);
  }
  /// A file is about to be written, or nothing follows: records that ring buffers dropped and have
  /// not reported yet are counted as lost now.
  void flush_drops() { ring_drops_.flush(); }

  // One record each, in the order of its ring buffer; called by Decoder::drain.
  void on(const RingInfo& ring, const wire::RingOpen& r, const Tail&) {
    ranges_.ring_opened(ring, r.ts_ns);
    operators_.on_ring_opened(ring, r.ts_ns);
    range_history_.enter(ring.tid, r.ts_ns, 0);
  }
  void on(const RingInfo& ring, const wire::Lost& r, const Tail&);
  void on(const RingInfo&, const wire::StringDef& r, const Tail& tail) {
    definitions_.define(r, tail);
    finder_.define(r, tail);
  }
  void on(const RingInfo&, const wire::StackDef& r, const Tail& tail) {
    definitions_.define(r, tail);
    finder_.define(r, tail);
  }
  void on(const RingInfo&, const wire::PyCodeDef& r, const Tail& tail) {
    definitions_.define(r, tail);
    finder_.define(r, tail);
  }
  void on(const RingInfo& ring, const wire::Sample& r, const Tail&);
  void on(const RingInfo& ring, const wire::StepMark& r, const Tail&) {
    finder_.on_target_step(ring, r);
    steps_.add(ring, r);
  }
  void on(const RingInfo& ring, const wire::UnmatchedLaunch& r, const Tail&) {
    steps_.add(ring, r);
  }
  void on(const RingInfo&, const wire::KernelNameMatch& r, const Tail&) { steps_.add(r); }
  void on(const RingInfo& ring, const wire::RangePush& r, const Tail&) {
    ranges_.push(ring, r, innermost(ring, 0), operators_.depth(ring));
    update_enclosing_range(ring, r.ts_ns);
  }
  void on(const RingInfo& ring, const wire::RangePop& r, const Tail&) {
    ranges_.pop(ring, r);
    update_enclosing_range(ring, r.ts_ns);
  }
  void on(const RingInfo& ring, const wire::RangeStart& r, const Tail&) { ranges_.start(ring, r); }
  void on(const RingInfo& ring, const wire::RangeEnd& r, const Tail&) { ranges_.end(ring, r); }
  void on(const RingInfo& ring, const wire::NvtxMark& r, const Tail&) { ranges_.mark(ring, r); }
  void on(const RingInfo&, const wire::InputsDef& r, const Tail& tail) {
    definitions_.define(r, tail);
  }
  void on(const RingInfo&, const wire::TorchModuleDef& r, const Tail& tail) {
    definitions_.define(r, tail);
  }
  void on(const RingInfo& ring, const wire::OpBegin& r, const Tail&);
  void on(const RingInfo& ring, const wire::OpEnd& r, const Tail&);
  void on(const RingInfo& ring, const wire::Allocation& r, const Tail&);
  void on(const RingInfo&, const wire::LoopDef& r, const Tail&) { finder_.define(r); }
  void on(const RingInfo& ring, const wire::StackLoops& r, const Tail& tail) {
    finder_.define(ring, r, tail);
  }
  void on(const RingInfo& ring, const wire::LoopMark& r, const Tail&);
  void on(const RingInfo& ring, const wire::Launch& r, const Tail&);
  void on(const RingInfo& ring, const wire::ApiCall& r, const Tail&) {
    correlator_.add(r, place(ring));
  }
  void on(const RingInfo& ring, const wire::KernelExec& r, const Tail&) {
    correlator_.add(r, place(ring));
  }
  void on(const RingInfo& ring, const wire::MemCopy& r, const Tail&) {
    correlator_.add(r, place(ring));
  }
  void on(const RingInfo& ring, const wire::MemSet& r, const Tail&) {
    correlator_.add(r, place(ring));
  }
  void on(const RingInfo& ring, const wire::Sync& r, const Tail&) {
    correlator_.add(r, place(ring));
  }
  void on(const RingInfo& ring, const wire::GraphExec& r, const Tail&) {
    correlator_.add(r, place(ring));
  }
  void on(const RingInfo& ring, const wire::Overhead& r, const Tail&) {
    correlator_.add(r, place(ring));
  }
  void on(const RingInfo&, const wire::ContextInfo& r, const Tail&);
  void on(const RingInfo&, const wire::StreamInfo& r, const Tail&);
  void on(const RingInfo&, const wire::DeviceInfo& r, const Tail&);
  void on(const RingInfo& ring, const wire::JitActivity& r, const Tail&);
  void on(const RingInfo&, const wire::ClockSync& r, const Tail&);

  /// All ring buffers were drained once. Joins, sorts and sends what waited for that.
  void end_round(std::uint64_t now_ns);

  /// A file is about to be written: nothing waits for a clock in the next rounds.
  void expedite() { correlator_.hurry(); }

  /// What CUPTI owes from before then is not expected any more.
  void reset_delivery(std::uint64_t ts_ns) { launches_.answers().reset(ts_ns); }

  /// Recording went off at `ts_ns`: once everything of that time is drained (two rounds), ranges
  /// still open from before are closed as unfinished.
  void recording_stopped(std::uint64_t ts_ns);

  /// A mark of our own, on the row of a thread.
  void add_own_mark(std::string_view text, std::uint32_t tid, std::uint64_t ts_ns) {
    ranges_.remark(text, tid, ts_ns);
  }

  /// Writes the losses known so far, so that they are distinguished from later ones.
  void write_losses(std::uint64_t now_ns);

  /// A window is cut: writes copies of ranges and operators that are open, for its file.
  void snapshot_open(std::uint64_t now_ns) {
    if (now_ns == snapshot_ns_) return;  // for another window already
    snapshot_ns_ = now_ns;
    ranges_.copy_open(now_ns);
    operators_.copy_open(now_ns);
  }

  /// The process is gone or the session ends; nothing follows. Sends everything.
  void finish(std::uint64_t now_ns);

  LossCounters& losses() { return losses_; }
  const LossCounters& losses() const { return losses_; }
  const EventCounts& counts() const { return counts_; }
  /// The process only serves another one (code_roles.hpp).
  bool is_worker_process() const { return definitions_.serves(); }
  const ClockTracker& clocks() const { return clock_tracker_; }
  /// Launches of which CUPTI has delivered nothing.
  std::uint64_t undelivered_launches() const { return launches_.undelivered(); }
  /// What CUPTI was asked for since recording went on, and what it gave.
  const DeliveryMonitor& delivery() const { return launches_.answers(); }
  std::uint64_t last_delivery_ns() const { return last_delivery_ns_; }
  const StepTracker& steps() const { return steps_; }

 private:
  void note_activity(std::uint64_t ts_ns);
  model::RangeId innermost(const RingInfo& ring, std::uint32_t op_id) const;
  model::RangeId launching_range(const RingInfo& ring, std::uint32_t op_id) const;
  void update_enclosing_range(const RingInfo& ring, std::uint64_t ts_ns);
  ReadingPosition place(const RingInfo& ring) const {
    return clock_tracker_.place(ring.index == clock_ring_);
  }

  model::EventSink& sink_;
  StepListener* listener_;
  Limits limits_;
  Lifetime life_;
  EventCounts counts_;
  LossCounters losses_;
  RingDrops ring_drops_{losses_};
  ClockTracker clock_tracker_;
  Definitions definitions_;
  PendingEvents pending_events_;
  model::RangeId next_range_ = 1;
  RangeTracker ranges_;
  OperatorTracker operators_;
  CorrelationTable launches_;
  RangeHistory range_history_;
  Correlator correlator_;
  StepTracker steps_;
  StepFinder finder_;
  ClockReport clock_report_;
  std::uint32_t clock_ring_ = ~0U;  // where readings come from
  bool active_ = false;
  std::uint64_t round_ns_ = 0;
  std::uint64_t stopped_ns_ = 0;
  std::uint32_t rounds_to_close_ = 0;
  std::uint64_t losses_written_ns_ = 0;
  std::uint64_t snapshot_ns_ = 0;
  std::uint64_t last_delivery_ns_ = 0;  // the agent reads the clock whenever it asks for records
};

}  // namespace gpuprof::ingest
