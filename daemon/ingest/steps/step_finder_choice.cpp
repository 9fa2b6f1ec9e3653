// SPDX-License-Identifier: Apache-2.0
//
// When a choice is made, what follows from it, and when it is made again.
//
// Context:  daemon (ingest thread)
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/ingest/steps/step_finder.hpp"
#include "daemon/ingest/steps/step_period.hpp"
#include "daemon/messages/ingest.hpp"

namespace gpuprof::ingest {
namespace {

constexpr std::uint64_t kCheckPeriodNs = 20'000'000;
/// A chosen loop that was not seen for this long, or this many steps, may be over.
constexpr std::uint64_t kChoiceQuietNs = 5'000'000'000, kChoiceQuietSteps = 20;
/// Instead of a loop that proved to be part of a step another one is looked for so long, or so many
/// times as long as the first update took to come.
constexpr std::uint64_t kDoubtNs = 60'000'000'000, kDoubtUpdates = 4;
/// So many optimizers outside of the chosen loop: the program has moved on, unless another thread
/// runs them while the one of the loop does not rest.
constexpr std::uint64_t kMaxOutsideUpdates = 3, kShortRestNs = 1'000'000'000;

/// Threads that run a loop side by side make steps of one of them: the one that went round most
/// often, and whatever was before or after it.
std::vector<Iteration> of_one_thread(const std::vector<Iteration>& all) {
  struct Thread {
    std::uint64_t count = 0, first_ns = 0, last_ns = 0;
  };
  std::map<std::uint32_t, Thread> threads;
  for (const Iteration& one : all) {
    Thread& its = threads[one.tid];
    if (its.count++ == 0) its.first_ns = one.begin_ns;
    its.last_ns = one.begin_ns;
  }
  if (threads.size() < 2) return all;
  const auto busiest = std::max_element(
      threads.begin(), threads.end(),
      [](const auto& a, const auto& b) { return a.second.count < b.second.count; });
  const Thread most = busiest->second;
  std::vector<Iteration> kept;
  for (const Iteration& one : all) {
    const Thread& its = threads[one.tid];
    if (one.tid == busiest->first || its.last_ns < most.first_ns || its.first_ns > most.last_ns)
      kept.push_back(one);
  }
  return kept;
}

/// Iterations that count, each with what the ones between it and the next one did.
std::vector<Iteration> counted_iterations(const Loop& loop) {
  constexpr std::uint32_t kDid = kIterationWorked | kIterationSeen;
  std::vector<Iteration> counted;
  for (const Iteration& one : of_one_thread(loop.iterations)) {
    if (loop.counts(one) || counted.empty()) {
      counted.push_back(one);
      continue;
    }
    Iteration& last = counted.back();
    last.flags = (last.flags & ~kIterationExited) | (one.flags & (kDid | kIterationExited));
    last.end_ns = std::max(last.end_ns, one.end_ns);
    last.left_ns = one.left_ns;
    if (last.first == 0) last.first = one.first;
    if (one.last != 0) last.last = one.last;
  }
  // One thread's came in order, what another one did before may have come later.
  std::stable_sort(counted.begin(), counted.end(),
                   [](const Iteration& a, const Iteration& b) { return a.begin_ns < b.begin_ns; });
  return counted;
}

/// Only the loader was asked, and had nothing more.
bool is_empty(const Iteration& one) {
  return (one.flags & kIterationSeen) != 0 && (one.flags & kIterationWorked) == 0;
}

StepExtent span_of(const Iteration& one) {
  const bool entry = (one.flags & wire::kMarkLoopEntry) != 0;
  return {one.begin_ns, one.tid, entry, one.end_ns, one.left_ns, one.first, one.last};
}

/// Each with what is known of it; what only asked the loader is part of the one before.
std::vector<StepExtent> spans_of(const std::vector<Iteration>& iterations) {
  std::vector<StepExtent> spans;
  for (const Iteration& one : iterations) {
    if (!is_empty(one)) spans.push_back(span_of(one));
    if (!is_empty(one) || spans.empty()) continue;
    spans.back().end_ns = std::max(spans.back().end_ns, one.end_ns);
    spans.back().left_ns = one.left_ns;
  }
  return spans;
}

}  // namespace

std::string StepFinder::text_of(const StepChoice& choice, const std::string& where) const {
  const std::uint32_t sure = choice.confidence;
  if (choice.source == wire::StepSource::kPeriod)
    return fmt::format(messages::ingest::kRepetitions, sure);
  if (choice.source == wire::StepSource::kOptimizer) {
    const auto name = special_.find(choice.optimizer_name);
    return fmt::format(messages::ingest::kUpdates,
                       name == special_.end() ? messages::ingest::kAnOptimizer : name->second.text,
                       sure);
  }
  const std::string at = where.empty() ? messages::ingest::kInUnknownCode
                                       : fmt::format(messages::ingest::kAtLocation, where);
  if (choice.with_graphs) return fmt::format(messages::ingest::kGraphIterations, at, sure);
  if (choice.with_optimizer) return fmt::format(messages::ingest::kOptimizerIterations, at, sure);
  return fmt::format(messages::ingest::kIterations, at, sure);
}

void StepFinder::publish_description(const std::string& what) {
  what_ = before_ + what;
  sink_.on(model::Fact{"steps", what_});
  if (listener_ != nullptr) listener_->steps_described(what_);
}

void StepFinder::report_unattributed_pauses() {
  const std::uint64_t count = steps_.spans().unattributed_pauses();
  if (count == 0 || what_.empty()) return;
  before_ = fmt::format(messages::ingest::kStepsAnd, what_);
  const std::uint64_t ms = steps_.spans().unplaced_ns() / 1'000'000;
  publish_description(count == 1 ? fmt::format(messages::ingest::kUnattributedPause, ms)
                                 : fmt::format(messages::ingest::kUnattributedPauses, count, ms));
}

/// Says what the steps are and writes it beside those that follow.
void StepFinder::place(const StepChoice& choice) {
  const std::string where = choice.loop != nullptr ? locations_.location(choice.loop->def) : "";
  const bool optimizer_loop = choice.loop != nullptr && choice.with_optimizer;
  placed_ = !where.empty();
  steps_.set_step_source(choice.source,
                         optimizer_loop ? wire::StepSource::kLoopOptimizer : choice.source,
                         choice.confidence, where.empty() ? 0 : names_.text(where));
  publish_description(text_of(choice, where));
}

void StepFinder::choose(const StepChoice& choice, std::uint64_t now_ns) {
  if (steps_.next() != 0)
    before_ = what_.empty()
                  ? fmt::format(messages::ingest::kStepsFrom, steps_.next() + 1)
                  : fmt::format(messages::ingest::kStepsChanged, what_, steps_.next() + 1);
  selected_ = choice;
  rule_ = choice.rule();
  suspended_ = doubted_ = trusted_ = false;
  pending_ = {};
  newest_ns_ = now_ns;
  outside_updates_ = other_thread_updates_ = 0;
  other_thread_begins_.clear();
  place(choice);
  if (choice.loop != nullptr)
    number_iterations(*choice.loop);
  else
    number_updates();
  if (listener_ != nullptr) listener_->step_rule(rule_, choice.key(), tid_);
  history_.clear();
  registry_.reset_counts();
}

void StepFinder::number(const StepExtent& span) {
  steps_.spans().begins(span);
  steps_.add_found({span.mark_ns, 0, span.tid});
  seen(span.mark_ns);
}

// Whether there is more in the last one than the loader, where none has ended, comes later.
void StepFinder::number_iterations(const Loop& loop) {
  steps_.skip(loop.forgotten());
  std::vector<Iteration> all = counted_iterations(loop);
  // What began before the newest step, of another loop, is part of that one.
  std::erase_if(all, [this](const Iteration& one) { return one.begin_ns <= begun_ns_; });
  std::vector<StepExtent> spans = spans_of(all);
  steps_.spans().of_loop(loop.def, spans);
  if (all.empty()) return;
  const Iteration& last = all.back();
  tid_ = last.tid;
  const bool worked = (last.flags & kIterationWorked) != 0;
  if (!worked && !is_empty(last)) spans.pop_back();
  for (const StepExtent& one : spans) number(one);
  if (worked) return;
  pending_ =
      Pending{last.begin_ns, last.tid, is_empty(last), (last.flags & wire::kMarkLoopEntry) != 0};
}

// What follows the newest update is a step, too, though the target does not count its begin.
void StepFinder::number_updates() {
  const std::vector<OptimizerEnd>& ends = registry_.optimizer_ends();
  number_found(cut_by_optimizer(history_.busiest_thread(), ends, selected_.optimizer_name));
  const auto newest = std::find_if(ends.rbegin(), ends.rend(), [this](const OptimizerEnd& end) {
    return end.name_id == selected_.optimizer_name;
  });
  if (newest != ends.rend()) pending_ = Pending{newest->end_ns, newest->tid, false};
}

void StepFinder::number_found(const std::vector<FoundStep>& steps) {
  for (const FoundStep& step : steps) {
    steps_.add_found(step);
    seen(step.begin_ns);
  }
}

// Without loops and optimizers the names must do. The program must be over: half a period more
// could be another one.
void StepFinder::choose_period() {
  if (search_.source != wire::StepSource::kAuto || !history_.without_stacks()) return;
  const std::vector<OperatorHistory::Op> ops = history_.busiest_thread();
  const std::vector<FoundStep> steps = cut_by_period(ops, find_period(ops));
  if (steps.empty()) return;
  selected_ = StepChoice{wire::StepSource::kPeriod, kConfidencePeriod, nullptr, false, 0};
  place(selected_);
  number_found(steps);
}

void StepFinder::try_select(std::uint64_t now_ns, SearchPhase timeout) {
  if (!undecided() || search_.source == wire::StepSource::kUser) return;
  if (const StepChoice choice = choose_step(registry_, locations_, search_, now_ns, timeout))
    return choose(choice, now_ns);
  if (timeout == SearchPhase::kEnded && !locations_.is_dataloader_worker()) choose_period();
}

void StepFinder::finish(std::uint64_t now_ns) {
  try_select(now_ns, SearchPhase::kEnded);
  if (doubted_)
    recheck_at_end(now_ns);
  else if (suspended_)
    choose_next(now_ns, SearchPhase::kEnded);
  settle(!pending_.loader);
}

void StepFinder::round_done(std::uint64_t now_ns) {
  if (!is_searching() || now_ns < looked_ns_ + kCheckPeriodNs) return;
  looked_ns_ = now_ns;
  if (selected_.source != wire::StepSource::kNone) return check_selection(now_ns);
  if (registry_.revision() == news_) return;
  news_ = registry_.revision();
  const bool looked = registry_.first_ns() != 0 && now_ns >= registry_.first_ns() + kSearchNs;
  try_select(now_ns, looked ? SearchPhase::kTimedOut : SearchPhase::kEarly);
}

// What was chosen may have been a warm-up, or the program goes on with another loop.
void StepFinder::check_selection(std::uint64_t now_ns) {
  if (!chose_loop() || search_.wants_named_loop()) return;
  const std::uint64_t each_ns = steps_seen_ < 2 ? 0 : (newest_ns_ - first_step_ns_) / steps_seen_;
  if (!suspended_) {
    const std::uint64_t quiet_ns = std::max(kChoiceQuietNs, kChoiceQuietSteps * each_ns);
    const bool rests = now_ns > newest_ns_ + std::max(kShortRestNs, 3 * each_ns);
    if (outside_updates_ >= kMaxOutsideUpdates ||
        (other_thread_updates_ >= kMaxOutsideUpdates && rests) || now_ns > newest_ns_ + quiet_ns)
      suspend(now_ns);
    return;
  }
  if (doubted_) return recheck_loop(now_ns);
  choose_next(now_ns, SearchPhase::kTimedOut);
}

// Another loop than the one that was left. @param patience  kNone: the program has ended.
void StepFinder::choose_next(std::uint64_t now_ns, SearchPhase timeout) {
  const bool ended = timeout == SearchPhase::kEnded, same = selected_.with_optimizer;
  // Replays are short, and so may be what is left of the program; other trainings wait their turn.
  const SearchPhase of_updates =
      ended && registry_.graph_replays() != 0 ? timeout : SearchPhase::kEarly;
  StepChoice choice;
  if (registry_.captured_optimizers() != 0 || !same) choice = loop_with_graphs(registry_, timeout);
  if (!choice) choice = loop_with_optimizer(registry_, of_updates);
  if (!choice && !same && !ended && now_ns > suspended_ns_ + kChoiceQuietNs)
    choice = busiest_loop(registry_, now_ns, timeout);
  if (choice && choice.loop != selected_.loop) choose(choice, now_ns);
}

// The chosen loop may have been the warm-up, and what follows may be shorter than a pause. If it
// goes on, so do its steps.
void StepFinder::captured_outside(std::uint64_t now_ns) {
  if (!suspended_ && !search_.wants_named_loop()) suspend(now_ns);
}

// The first update came after the choice.
void StepFinder::late_update(const RingInfo& ring, bool inside, std::uint64_t now_ns) {
  if (selected_.with_optimizer || trusted_ || suspended_ || search_.wants_named_loop()) return;
  if (!is_steps_thread(ring)) return;
  if (!inside) {
    suspend(now_ns);
    doubted_ = true;
    return;
  }
  selected_.with_optimizer = true;
  selected_.confidence = kConfidenceOptimizerLoop;
  place(selected_);
}

void StepFinder::recheck_loop(std::uint64_t now_ns) {
  const StepChoice choice = loop_with_optimizer(registry_, SearchPhase::kTimedOut);
  if (choice) return choose(choice, now_ns);
  if (now_ns >= suspended_ns_ + std::max(kDoubtNs, kDoubtUpdates * first_update_ns()))
    accept_loop();
}

// Nothing follows. Gradients may have been summed up for one more update.
void StepFinder::recheck_at_end(std::uint64_t now_ns) {
  if (const StepChoice choice = loop_with_optimizer(registry_, SearchPhase::kEnded))
    return choose(choice, now_ns);
  const auto& ends = registry_.optimizer_ends();
  const std::uint64_t update_ns = ends.empty() ? suspended_ns_ : ends.back().end_ns;
  if (selected_.backward && now_ns <= update_ns + first_update_ns()) return;
  accept_loop();
  const StepChoice other = busiest_loop(registry_, now_ns, SearchPhase::kEnded);
  if (other && other.loop != selected_.loop &&
      other.loop->last_ns > other.loop->first_ns + kChoiceQuietNs)
    choose(other, now_ns);
}

// The updates outside have nothing to do with the loop.
void StepFinder::accept_loop() {
  doubted_ = false;
  trusted_ = true;
  number_iterations(*selected_.loop);
}

void StepFinder::suspend(std::uint64_t now_ns) {
  settle(!pending_.loader);
  suspended_ = true;
  suspended_ns_ = now_ns;
  registry_.reset_counts();
  if (listener_ != nullptr) listener_->step_rule(wire::StepRule::kNone, 0, 0);
}

void StepFinder::resume(std::uint32_t tid) {
  suspended_ = false;
  tid_ = tid;
  if (listener_ != nullptr) listener_->step_rule(rule_, selected_.key(), tid_);
}

}  // namespace gpuprof::ingest
