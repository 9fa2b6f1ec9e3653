// SPDX-License-Identifier: Apache-2.0
//
// The rules, one function each.
//
// Context:  daemon; pure
// Owns:     nothing
#include "daemon/ingest/steps/step_rules.hpp"

#include <algorithm>
#include <vector>

namespace gpuprof::ingest {
namespace {

constexpr std::uint64_t kMinIterations = 3, kMany = 20;
constexpr std::uint64_t kMinSearchNs = 100'000'000;
/// A loop without operators for this long is over, unless its iterations take as long.
constexpr std::uint64_t kQuietNs = 1'000'000'000;
/// Training steps may take this long.
constexpr std::uint64_t kMaxStepNs = 60 * kQuietNs;
/// Gradients are summed up this long, and over so many iterations, before the first update.
constexpr std::uint64_t kFirstUpdateNs = 20 * kQuietNs, kManyBatches = 128;

/// What was seen of it is enough.
bool enough(std::uint64_t count, std::uint64_t entries, std::uint64_t span_ns,
            SearchPhase timeout) {
  if (timeout == SearchPhase::kEnded) return true;
  if (count < kMinIterations || span_ns < kMinSearchNs) return false;
  return timeout == SearchPhase::kTimedOut || entries > 1 || count >= kMany;
}

bool enough(const Loop& loop, SearchPhase timeout) {
  return enough(loop.count(), loop.entries, loop.last_ns - loop.first_ns, timeout);
}

StepChoice loop_choice(const Loop& loop, std::uint32_t confidence, bool with_optimizer) {
  return {wire::StepSource::kLoop, confidence, &loop, with_optimizer, 0};
}

/// Of the threads that run it, since they entered it first.
bool holds_all_optimizers(const Loop& loop) {
  return loop.count() != 0 && loop.optimizers != 0 && loop.outside_optimizers == 0;
}

/// It has gone on at its usual pace for a while: a few iterations, of which the first takes long,
/// may be the warm-up of a capture or, where an outer loop has not gone round yet, the inner one.
/// A pause (something is compiled) says nothing.
bool goes_on(const Loop& loop) {
  if (loop.count() >= kMany) return true;
  std::vector<std::uint64_t> lengths;
  for (std::size_t i = 1; i < loop.iterations.size(); ++i)
    lengths.push_back(loop.iterations[i].begin_ns - loop.iterations[i - 1].begin_ns);
  if (lengths.empty()) return false;
  const auto median = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), median, lengths.end());
  return *median * loop.count() >= kQuietNs;
}

bool settled(const Loop& loop, SearchPhase timeout) {
  return timeout != SearchPhase::kTimedOut || loop.entries > 1 || goes_on(loop);
}

/// A graph was captured outside of it, and it has not gone on for long since then: what it did may
/// have been the warm-up that a capture needs.
bool may_be_warm_up(const Loop& loop, SearchPhase timeout) {
  if (timeout == SearchPhase::kEnded || loop.capture_ns == 0) return false;
  const auto since = static_cast<std::uint64_t>(
      std::count_if(loop.iterations.begin(), loop.iterations.end(),
                    [&](const Iteration& one) { return one.begin_ns > loop.capture_ns; }));
  return since < kMinIterations || (since < kMany && loop.last_ns < loop.capture_ns + kQuietNs);
}

/// Each time it is entered it makes one update: its iterations are parts of a step (gradients are
/// accumulated over them), and the loop around it makes the steps.
bool makes_one_update(const Loop& loop) {
  return loop.entries > 1 && loop.one_update_each && loop.updates <= 1;
}

bool is_live(const Loop& loop, std::uint64_t now_ns) {
  const std::uint64_t newest = std::max(loop.last_op_ns, loop.last_ns);
  const std::uint64_t each_ns = (loop.last_ns - loop.first_ns) / loop.count();
  return newest + std::max(kQuietNs, 2 * each_ns) >= now_ns;
}

/// Models are built, and their weights loaded, in loops that compute next to nothing.
bool computes(const Loop& loop) { return loop.setup_ns < loop.operator_ns * 9; }

/// Looking back, most of the work came after the training.
bool has_trained(const LoopRegistry& registry, std::uint64_t now_ns, SearchPhase timeout) {
  const LoopRegistry::Backward& last = registry.last_backward();
  if (timeout == SearchPhase::kEnded)
    return (registry.operator_ns() - last.operator_ns) * 2 > registry.operator_ns();
  return now_ns > last.ts_ns + kMaxStepNs;
}

/// Of a training, as long as it is one, only a loop that goes backward may be the step.
bool trains(const LoopRegistry& registry, const Loop& loop, std::uint64_t now_ns,
            SearchPhase timeout) {
  return registry.backward_in_loops() == 0 || loop.backward != 0 ||
         has_trained(registry, now_ns, timeout);
}

/// An optimizer may yet come, and with it the loop that makes the steps.
bool awaits_update(const LoopRegistry& registry, std::uint64_t now_ns, SearchPhase timeout) {
  return timeout == SearchPhase::kTimedOut && registry.backward() != 0 &&
         registry.optimizers() == 0 && now_ns < registry.first_ns() + kFirstUpdateNs;
}

bool is_busy(const Loop& loop) {
  const std::uint64_t all_ns = loop.op_ns_after - loop.op_ns_before;
  return loop.operator_ns != 0 && loop.operator_ns * 10 >= all_ns * 9;
}

}  // namespace

wire::StepRule StepChoice::rule() const {
  if (source == wire::StepSource::kOptimizer) return wire::StepRule::kOpEnd;
  if (source != wire::StepSource::kLoop) return wire::StepRule::kNone;
  return loop->counts_weak() ? wire::StepRule::kLoopInferred : wire::StepRule::kLoop;
}

std::uint64_t StepChoice::key() const { return loop != nullptr ? loop->def.id : optimizer_name; }

StepChoice named_loop(const LoopRegistry& registry, const LoopLocations& places,
                      const StepSearch& search, SearchPhase timeout) {
  const Loop* holding = nullptr;
  int shortest = 0;
  for (const auto& [id, loop] : registry.loops()) {
    if (loop.count() == 0 || !places.in_file(loop.def, search.file)) continue;
    const LoopLineRange lines = places.lines(loop.def);
    const int wanted = static_cast<int>(search.line);
    if (lines.head == wanted)
      return enough(loop, timeout) ? loop_choice(loop, kConfidenceNamed, loop.optimizers != 0)
                                   : StepChoice{};
    const bool holds = lines.head != 0 && lines.head < wanted && wanted <= lines.last;
    if (!holds || (holding != nullptr && lines.last - lines.head >= shortest)) continue;
    holding = &loop;
    shortest = lines.last - lines.head;
  }
  // Its head may belong to a loop that was not reached yet.
  if (holding == nullptr || timeout == SearchPhase::kEarly || !enough(*holding, timeout)) return {};
  return loop_choice(*holding, kConfidenceNamed, holding->optimizers != 0);
}

StepChoice loop_with_optimizer(const LoopRegistry& registry, SearchPhase timeout) {
  const Loop* selected = nullptr;
  for (const Loop* loop : registry.loops_around_optimizer()) {
    if (!holds_all_optimizers(*loop)) continue;
    if (selected != nullptr && !makes_one_update(*selected)) break;
    // At the very end an outer loop that went round once is none.
    if (selected != nullptr && timeout == SearchPhase::kEnded && loop->count() < 2) break;
    selected = loop;
  }
  if (selected == nullptr || selected->count() < 2 || !enough(*selected, timeout)) return {};
  if (!settled(*selected, timeout) || may_be_warm_up(*selected, timeout)) return {};
  return loop_choice(*selected, kConfidenceOptimizerLoop, true);
}

StepChoice loop_with_graphs(const LoopRegistry& registry, SearchPhase timeout) {
  if (registry.graph_replays() < kMinIterations) return {};
  const bool trains = registry.captured_optimizers() != 0;
  // Warm-up iterations, which a capture needs, come before the first replay. Where graphs hold no
  // optimizer they are a part of the step, or an inference behind a training.
  const auto& ends = registry.optimizer_ends();
  if (!ends.empty() && (!trains || ends.back().end_ns > registry.first_replay_ns())) return {};
  const Loop* selected = nullptr;
  for (const auto& [id, loop] : registry.loops()) {
    if (loop.in_module() || loop.count() < 2 ||
        loop.graph_replays * 10 < registry.graph_replays() * 9)
      continue;
    if (selected == nullptr || registry.is_inside(&loop, selected)) selected = &loop;
  }
  if (selected == nullptr || !enough(*selected, timeout)) return {};
  StepChoice choice =
      loop_choice(*selected, trains ? kConfidenceOptimizerLoop : kConfidenceLoop, trains);
  choice.with_graphs = true;
  return choice;
}

StepChoice busiest_loop(const LoopRegistry& registry, std::uint64_t now_ns, SearchPhase timeout) {
  if (timeout == SearchPhase::kEarly) return {};
  std::vector<const Loop*> candidates;
  const Loop* busiest = nullptr;
  for (const auto& [id, loop] : registry.loops()) {
    if (loop.in_module() || loop.count() < kMinIterations || !enough(loop, timeout) ||
        !is_busy(loop))
      continue;
    if (!trains(registry, loop, now_ns, timeout)) continue;
    if (!computes(loop) || may_be_warm_up(loop, timeout)) continue;
    if (timeout != SearchPhase::kEnded && (!is_live(loop, now_ns) || !goes_on(loop))) continue;
    candidates.push_back(&loop);
    if (busiest == nullptr || loop.operator_ns > busiest->operator_ns) busiest = &loop;
  }
  if (busiest == nullptr) return {};
  const Loop* selected = busiest;
  for (const Loop* one : candidates)
    if (one != selected && one->operator_ns * 10 >= busiest->operator_ns * 9 &&
        registry.is_inside(one, selected))
      selected = one;
  StepChoice choice = loop_choice(*selected, kConfidenceLoop, false);
  choice.backward = selected->backward != 0 || registry.backward() > registry.backward_in_loops();
  return choice;
}

StepChoice last_optimizer(const LoopRegistry& registry, SearchPhase timeout) {
  const std::vector<OptimizerEnd>& ends = registry.optimizer_ends();
  std::vector<std::uint64_t> names;  // in the order they came
  for (const OptimizerEnd& end : ends)
    if (std::find(names.begin(), names.end(), end.name_id) == names.end())
      names.push_back(end.name_id);
  if (names.empty() || names.size() > kMany) return {};
  const auto is_last = [&](const OptimizerEnd& end) { return end.name_id == names.back(); };
  const auto count = static_cast<std::uint64_t>(std::count_if(ends.begin(), ends.end(), is_last));
  const auto first = std::find_if(ends.begin(), ends.end(), is_last);
  if (count < kMinIterations || !enough(count, 1, ends.back().end_ns - first->end_ns, timeout))
    return {};
  return {wire::StepSource::kOptimizer, kConfidenceOptimizer, nullptr, true, names.back()};
}

StepChoice choose_step(const LoopRegistry& registry, const LoopLocations& places,
                       const StepSearch& search, std::uint64_t now_ns, SearchPhase timeout) {
  if (places.is_dataloader_worker()) return {};
  if (search.wants_named_loop()) return named_loop(registry, places, search, timeout);
  if (search.source == wire::StepSource::kOptimizer) return last_optimizer(registry, timeout);
  if (!search.wants_loops()) return {};
  if (const StepChoice selected = loop_with_graphs(registry, timeout)) return selected;
  if (const StepChoice selected = loop_with_optimizer(registry, timeout)) return selected;
  // A loop with optimizers is only a matter of more iterations.
  const auto& around = registry.loops_around_optimizer();
  if (timeout != SearchPhase::kEnded &&
      std::any_of(around.begin(), around.end(), [&](const Loop* one) {
        return holds_all_optimizers(*one) && one->last_ns + kMaxStepNs >= now_ns;
      }))
    return {};
  if (registry.optimizers() != 0 && around.empty() && search.wants_optimizers())
    if (const StepChoice selected = last_optimizer(registry, timeout)) return selected;
  const StepChoice busiest = busiest_loop(registry, now_ns, timeout);
  if (!busiest) return {};
  if (busiest.loop->count() < kManyBatches && awaits_update(registry, now_ns, timeout)) return {};
  // Looking back, what took the lesser part of the program is not what it is about.
  const bool lesser =
      timeout == SearchPhase::kEnded && busiest.loop->operator_ns * 2 < registry.operator_ns();
  return lesser ? StepChoice{} : busiest;
}

}  // namespace gpuprof::ingest
