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
      calls_(trace.prescan.modules, trace.prescan.steps, [this](const ModuleCall& c) { take(c); }),
      links_(trace.prescan.modules) {}

void ModuleCallPass::on(const model::Operator& reported) {
  const Prescan& prescan = t_.prescan;
  const model::Operator e = prescan.with_open_end(reported);
  if (!prescan.overlaps({e.start_ns, e.end_ns}) || prescan.open_ranges.is_superseded(reported))
    return;
  const OpKind kind = classify_operator(prescan.names.text(e.name));
  const StepPlacement placed = prescan.placement_of(e.id, e.tid, {e.start_ns, e.end_ns});
  const bool nests = prescan.operator_of(e.id) != 0;
  // Where only modules are recorded, what ran in none has no stack.
  const bool known = e.stack != 0 || !prescan.stacks_requested;
  calls_.add({e.id, e.parent, e.tid, e.stack, placed.interval, nests, known});
  if (nests) order_.add(e, kind, [this](const model::Operator& op) { link(op); });
}

void ModuleCallPass::link(const model::Operator& e) {
  const Prescan& prescan = t_.prescan;
  const OpKind kind = classify_operator(prescan.names.text(e.name));
  const StepPlacement placed = prescan.placement_of(e.id, e.tid, {e.start_ns, e.end_ns});
  const bool outermost = prescan.operator_of(e.parent) == 0;
  const auto found = links_.add(e, kind, placed.interval.start_ns, outermost);
  if (kind == OpKind::kEvaluateFunction && outermost) evaluated(e, placed.interval.start_ns);
  if (!found.link) return;
  auto& begins = forward_[found.link->forward_tid];
  accepts_flows_ = accepts_flows_ && begins.size() < kMaxForward;
  if (accepts_flows_) begins.push_back(found.link->forward_ns);
}

void ModuleCallPass::on(const model::Range& reported) {
  const model::Range e = t_.prescan.with_open_end(reported);
  if (e.kind != model::RangeKind::kPushPop || !t_.prescan.overlaps({e.start_ns, e.end_ns}) ||
      t_.prescan.open_ranges.is_superseded(reported))
    return;
  // Its own place among the modules is not known: what is called in it ends with it.
  const bool nests = t_.prescan.operator_of(e.id) != 0;
  calls_.add({e.id, e.parent, e.tid, 0, {e.start_ns, e.end_ns}, nests, false});
}

void ModuleCallPass::evaluated(const model::Operator& op, std::uint64_t start_ns) {
  constexpr std::string_view kAccumulate = "torch::autograd::AccumulateGrad";
  const bool accumulates = t_.prescan.names.text(op.name).ends_with(kAccumulate);
  const auto [at, added] = first_evaluated_.try_emplace(op.tid, start_ns, accumulates);
  if (!added && start_ns < at->second.first) at->second = {start_ns, accumulates};
}

void ModuleCallPass::take(const ModuleCall& call) {
  const ModulePaths& paths = t_.prescan.modules;
  const std::string name = paths.name(call.path, t_.prescan.names);
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
  accepts_flows_ = accepts_flows_ && written_.size() < kMaxCalls;
  if (accepts_flows_) written_.push_back({call.tid, call.start_ns, call.end_ns});
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
  accepts_flows_ = accepts_flows_ && first_evaluated_.size() < 2 &&
                   std::none_of(first_evaluated_.begin(), first_evaluated_.end(),
                                [](const auto& thread) { return thread.second.second; }) &&
                   every_call_has_one();
  written_ = {};
  forward_ = {};
}

}  // namespace gpuprof::exporter
