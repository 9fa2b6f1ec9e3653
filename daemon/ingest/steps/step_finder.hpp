// SPDX-License-Identifier: Apache-2.0
//
// Finds out what a step of a PyTorch program is, numbers those that are over, and has the target
// count from there on.
//
// Context:  daemon (ingest thread)
// Owns:     what is known of loops, optimizers and operators until a choice is made
// Promises: nothing is chosen before there is reason to; what was chosen is said; bounded
// Not here: the rules (step_rules.hpp), numbers and ends (step_tracker.hpp)
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "daemon/ingest/decode/definitions.hpp"
#include "daemon/ingest/loops/loop_locations.hpp"
#include "daemon/ingest/loops/loop_registry.hpp"
#include "daemon/ingest/steps/operator_history.hpp"
#include "daemon/ingest/steps/step_rules.hpp"
#include "daemon/ingest/steps/step_tracker.hpp"

namespace gpuprof::ingest {

class StepFinder {
 public:
  /// Operators are recorded this long before a choice is made from less evidence.
  static constexpr std::uint64_t kSearchNs = 5'000'000'000;

  StepFinder(StepTracker& steps, Definitions& names, model::EventSink& sink, StepListener* listener)
      : steps_(steps), names_(names), sink_(sink), listener_(listener) {}

  void set_search(const StepSearch& search);

  // Records, in the order of their ring buffer.
  void define(const wire::StringDef& def, const Tail& tail);
  void define(const wire::PyCodeDef& def, const Tail& tail);
  void define(const wire::LoopDef& def);
  void define(const wire::StackDef& def, const Tail& tail) {
    if (is_searching()) steps_.spans().positions().define(def, tail);
  }
  void add_sample(const wire::Sample& sample) {
    if (is_searching()) steps_.spans().positions().add(sample);
  }
  void define(const RingInfo& ring, const wire::StackLoops& stack, const Tail& tail);
  void mark(const RingInfo& ring, const wire::LoopMark& mark);
  void begin(const RingInfo& ring, const wire::OpBegin& op);
  void end(const RingInfo& ring, const wire::OpEnd& end);
  /// A launch of a graph, or the begin or end of a capture into one.
  void launched(const RingInfo& ring, const wire::Launch& launch);
  /// A range of the program's own ended on the thread that began it.
  void range_ended(std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns) {
    if (chose_loop() && tid == tid_) steps_.spans().extend_by_range(begin_ns, end_ns);
  }
  /// A step the target counted. Before StepTracker::add().
  void on_target_step(const RingInfo& ring, const wire::StepMark& mark);
  void ring_lost(const RingInfo& ring);

  void round_done(std::uint64_t now_ns);
  /// The process has ended: chooses with what is there.
  void finish(std::uint64_t now_ns);
  /// Says how much time may be of another step than it is counted to. Once all steps have ended.
  void report_unattributed_pauses();
  /// Chooses with what is there, if that is enough.
  void try_select(std::uint64_t now_ns, SearchPhase timeout);

  /// Loops seen so far.
  std::size_t loops() const { return registry_.loops().size(); }
  /// There are operators, and what a step of them is is not known.
  bool undecided() const {
    return is_searching() && selected_.source == wire::StepSource::kNone &&
           registry_.first_ns() != 0;
  }

 private:
  struct NamedOperator {
    OperatorKind kind = OperatorKind::kOther;
    std::string text;
  };
  /// An iteration of the chosen loop that the target did not count and that may be empty, or what
  /// follows an update.
  struct Pending {
    std::uint64_t begin_ns = 0;  // 0: there is none
    std::uint32_t tid = 0;
    bool loader = false;  // the loader was asked in it
    bool entry = false;   // the loop was entered with it
  };

  /// The same, as the target tells it while it only counts.
  void on_graph_mark(const RingInfo& ring, const wire::LoopMark& mark);
  bool is_searching() const { return among_operators_; }
  bool chose_loop() const { return selected_.source == wire::StepSource::kLoop; }
  /// Of whichever thread.
  bool in_selected_loop(const RingInfo& ring) const;
  bool is_steps_thread(const RingInfo& ring) const { return chose_loop() && ring.tid == tid_; }
  void settle(bool worked);
  void switch_thread(std::uint32_t tid);
  void seen(std::uint64_t ts_ns);
  void choose(const StepChoice& choice, std::uint64_t now_ns);
  void number_iterations(const Loop& loop);
  void number(const StepExtent& span);
  void number_updates();
  void on_update_end(const OptimizerEnd& end);
  void number_found(const std::vector<FoundStep>& steps);
  void choose_period();
  void place(const StepChoice& choice);
  void publish_description(const std::string& what);
  std::string text_of(const StepChoice& choice, const std::string& where) const;
  void suspend(std::uint64_t now_ns);
  void resume(std::uint32_t tid);
  void check_selection(std::uint64_t now_ns);
  void choose_next(std::uint64_t now_ns, SearchPhase timeout);
  void on_thread_operator(const RingInfo& ring, const wire::OpBegin& op, OperatorKind kind);
  void captured_outside(std::uint64_t now_ns);
  void late_update(const RingInfo& ring, bool inside, std::uint64_t now_ns);
  void recheck_loop(std::uint64_t now_ns);
  void recheck_at_end(std::uint64_t now_ns);
  void accept_loop();
  /// How long the first update outside of the chosen loop took to come.
  std::uint64_t first_update_ns() const {
    return suspended_ns_ - std::min(first_step_ns_, suspended_ns_);
  }

  StepTracker& steps_;
  Definitions& names_;
  model::EventSink& sink_;
  StepListener* listener_;
  StepSearch search_;
  bool among_operators_ = false;
  LoopRegistry registry_;
  LoopLocations locations_;
  OperatorHistory history_;
  std::unordered_map<std::uint64_t, NamedOperator> special_;  // names that mean something

  StepChoice selected_;  // its `loop` is in registry_
  bool placed_ = false;  // where that is is known
  std::string before_;   // what steps were before the choice
  wire::StepRule rule_ = wire::StepRule::kNone;
  std::uint32_t tid_ = 0;  // whose iterations of the chosen loop are the steps
  Pending pending_;
  bool target_counts_ = false;  // updates
  bool suspended_ = false;      // the target tells of all loops again
  std::uint64_t suspended_ns_ = 0;
  bool doubted_ = false;  // … since updates lie outside: it does not go on by itself
  bool trusted_ = false;  // updates outside of it led to no other loop
  std::uint64_t newest_ns_ = 0, steps_seen_ = 0;  // of the chosen steps
  std::uint64_t first_step_ns_ = 0;
  std::uint64_t begun_ns_ = 0;  // begin of the newest step that has a number
  /// Optimizers outside of the chosen loop since its newest step: in its thread, in others.
  std::uint64_t outside_updates_ = 0, other_thread_updates_ = 0;
  /// Begins of its iterations in other threads since then: one of them may count from now on.
  std::vector<FoundStep> other_thread_begins_;
  std::uint64_t looked_ns_ = 0, news_ = 0;
  std::string what_;
};

}  // namespace gpuprof::ingest
