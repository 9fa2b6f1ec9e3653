// SPDX-License-Identifier: Apache-2.0
//
// Calls of nn.Modules as `python_function` ranges.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/tensorboard/module_call_pass.hpp"

#include <algorithm>

namespace gpuprof::exporter {
namespace {

/// Beyond these the arrows are left out.
constexpr std::size_t kMaxCalls = 2'000'000;
constexpr std::size_t kMaxForward = 2'000'000;

}  // namespace

ModuleCallPass::ModuleCallPass(JsonTraceState& trace)
    : t_(trace),
      calls_(trace.survey.modules, trace.survey.steps, [this](const ModuleCall& c) { take(c); }),
      links_(trace.survey.modules) {}

void ModuleCallPass::on(const model::Operator& told) {
  const Prescan& survey = t_.survey;
  const model::Operator e = survey.with_open_end(told);
  if (!survey.overlaps({e.start_ns, e.end_ns}) || survey.open_ranges.is_superseded(told)) return;
  const OpKind kind = classify_operator(survey.names.text(e.name));
  const StepPlacement placed = survey.placement_of(e.id, e.tid, {e.start_ns, e.end_ns});
  const bool nests = survey.operator_of(e.id) != 0;
  // Where only modules are recorded, what ran in none has no stack.
  const bool known = e.stack != 0 || !survey.stacks_requested;
  calls_.add({e.id, e.parent, e.tid, e.stack, placed.interval, nests, known});
  if (nests) order_.add(e, kind, [this](const model::Operator& op) { link(op); });
}

void ModuleCallPass::link(const model::Operator& e) {
  const Prescan& survey = t_.survey;
  const OpKind kind = classify_operator(survey.names.text(e.name));
  const StepPlacement placed = survey.placement_of(e.id, e.tid, {e.start_ns, e.end_ns});
  const bool outermost = survey.operator_of(e.parent) == 0;
  const auto found = links_.add(e, kind, placed.interval.start_ns, outermost);
  if (kind == OpKind::kEvaluateFunction && outermost) evaluated(e, placed.interval.start_ns);
  if (!found.link) return;
  auto& begins = forward_[found.link->forward_tid];
  takes_arrows_ = takes_arrows_ && begins.size() < kMaxForward;
  if (takes_arrows_) begins.push_back(found.link->forward_ns);
}

void ModuleCallPass::on(const model::Range& told) {
  const model::Range e = t_.survey.with_open_end(told);
  if (e.kind != model::RangeKind::kPushPop || !t_.survey.overlaps({e.start_ns, e.end_ns}) ||
      t_.survey.open_ranges.is_superseded(told))
    return;
  // Its own place among the modules is not known: what is called in it ends with it.
  const bool nests = t_.survey.operator_of(e.id) != 0;
  calls_.add({e.id, e.parent, e.tid, 0, {e.start_ns, e.end_ns}, nests, false});
}

void ModuleCallPass::evaluated(const model::Operator& op, std::uint64_t start_ns) {
  constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";
  const bool accumulates = t_.survey.names.text(op.name).ends_with(kAccumulate);
  const auto [at, added] = first_evaluated_.try_emplace(op.tid, start_ns, accumulates);
  if (!added && start_ns < at->second.first) at->second = {start_ns, accumulates};
}

void ModuleCallPass::take(const ModuleCall& call) {
  const ModulePaths& paths = t_.survey.modules;
  const std::string name = paths.name(call.path, t_.survey.names);
  const ModulePaths::Path parent = paths.parent(call.path);
  BufferedWriter& json = t_.event(name.size());
  json.raw("{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: ").raw(name);
  t_.write_pid_tid(t_.host_pid, call.tid);
  t_.interval(call.start_ns, call.end_ns);
  json.raw(",\"args\":{\"Python id\":").number(call.path).raw(",\"Python parent id\":");
  if (parent == 0) {
    json.raw("null");
  } else {
    json.number(parent);
  }
  json.raw(",\"Python module id\":").number(paths.module(call.path)).raw(",\"approx\":1}}");
  takes_arrows_ = takes_arrows_ && written_.size() < kMaxCalls;
  if (takes_arrows_) written_.push_back({call.tid, call.start_ns, call.end_ns});
}

bool ModuleCallPass::every_call_has_one() {
  for (auto& [tid, begins] : forward_) std::sort(begins.begin(), begins.end());
  return std::all_of(written_.begin(), written_.end(), [this](const Call& call) {
    const auto thread = forward_.find(call.tid);
    if (thread == forward_.end()) return false;
    const auto first =
        std::lower_bound(thread->second.begin(), thread->second.end(), call.start_ns);
    return first != thread->second.end() && *first < call.end_ns;
  });
}

void ModuleCallPass::finish() {
  order_.finish([this](const model::Operator& op) { link(op); });
  calls_.finish();
  // It also fails where gradients are added up before any node ran, and mistakes threads.
  takes_arrows_ = takes_arrows_ && first_evaluated_.size() < 2 &&
                  std::none_of(first_evaluated_.begin(), first_evaluated_.end(),
                               [](const auto& thread) { return thread.second.second; }) &&
                  every_call_has_one();
  written_ = {};
  forward_ = {};
}

}  // namespace gpuprof::exporter
