// SPDX-License-Identifier: Apache-2.0
//
// The second pass: from events of the model to what is shown.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/resolve/event_resolver.hpp"

#include <algorithm>

#include "analysis/export/labels/event_names.hpp"
#include "analysis/export/labels/recorded_kind.hpp"
#include "analysis/export/prescan/missing_data.hpp"
#include "analysis/export/prescan/read_window.hpp"
#include "analysis/export/resolve/backward_reorder.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::uint32_t kStateRepeat = 2;

class ResolvePass final : public model::IgnoringSink {
 public:
  ResolvePass(Prescan& prescan, StackFormatter& stacks, ResolvedSink& sink)
      : prescan_(prescan),
        stacks_(stacks),
        sink_(sink),
        links_(prescan.modules),
        order_(links_),
        modules_(prescan.modules, prescan.steps,
                 [this](const ModuleCall& call) { sink_.on(call); }) {}

  void steps() {
    for (const model::Step& step : prescan_.steps)
      sink_.on(ResolvedStep{
          step, step.where != 0 ? prescan_.names.text(step.where) : std::string_view()});
  }

  using model::IgnoringSink::on;
  void on(const model::Sample& event) override;
  void on(const model::Range& event) override {
    if (!prescan_.open_ranges.is_superseded(event)) range(prescan_.with_open_end(event));
  }
  void on(const model::Operator& event) override {
    if (!prescan_.open_ranges.is_superseded(event)) op(prescan_.with_open_end(event));
  }
  void on(const model::Allocation& event) override {
    if (prescan_.starts_in_window(event.start_ns) && is_supported_memory(event)) sink_.on(event);
  }
  void on(const model::ApiCall& event) override;
  void on(const model::Kernel& event) override { gpu(event, prescan_.names.symbol(event.name)); }
  void on(const model::MemCopy& event) override { gpu(event, name_of(event)); }
  void on(const model::MemSet& event) override { gpu(event, name_of(event)); }
  void on(const model::GraphExec& event) override { gpu(event, name_of(event)); }
  void on(const model::Sync& event) override;
  void on(const model::Overhead& event) override {
    if (prescan_.starts_in_window(event.start_ns))
      sink_.on(ResolvedOverhead{event, name_of(event)});
  }

  void finish() {
    order_.finish([this](const model::Operator& event) { show(event); });
    modules_.finish();
  }

 private:
  void range(const model::Range& event);
  void op(const model::Operator& event);
  void show(const model::Operator& event);
  template <typename E>
  void gpu(const E& event, std::string_view name);
  Nesting nesting(StepRelation place, model::StringId name) const;
  model::RangeId owner(model::RangeId range) const;
  model::RangeId around(model::RangeId parent) const {
    return parent != 0 && prescan_.operator_ids.test(parent) ? parent : 0;
  }

  Prescan& prescan_;
  StackFormatter& stacks_;
  ResolvedSink& sink_;
  BackwardLinks links_;
  BackwardReorderer order_;
  ModuleCalls modules_;
  PagedBitset drawn_, arrived_;
  std::unordered_map<std::uint32_t, model::StackId> last_stack_;  // of a thread's samples
};

Nesting ResolvePass::nesting(StepRelation place, model::StringId name) const {
  if (place == StepRelation::kCrossing) return Nesting::kOverlapping;
  if (place == StepRelation::kNonCrossing || prescan_.launching_step_ranges.contains(name))
    return Nesting::kNests;
  return Nesting::kEnclosing;
}

/// As PyTorch's profiler attributes: what a collective launched belongs to the record in it.
model::RangeId ResolvePass::owner(model::RangeId range) const {
  const model::RangeId record = prescan_.collectives.record_of(range);
  return prescan_.operator_of(record != 0 && prescan_.operator_of(record) != 0 ? record : range);
}

void ResolvePass::on(const model::Sample& event) {
  if (!prescan_.starts_in_window(event.ts_ns)) return;
  model::StackId& last = last_stack_[event.tid];
  if (event.state != kStateRepeat || event.stack != 0) last = event.stack;
  model::Sample reported = event;
  reported.stack = last;
  reported.state = event.state == 0 ? 0 : 1;
  const std::vector<StackFormatter::Frame>& frames = stacks_.frames(last, event.ts_ns);
  sink_.on(ResolvedSample{reported, {frames.data(), frames.size()}});
}

void ResolvePass::range(const model::Range& event) {
  if (!prescan_.overlaps({event.start_ns, event.end_ns})) return;
  const auto domain = prescan_.domains.find(event.domain);
  ResolvedRange shown{event,
                      {event.start_ns, event.end_ns},
                      prescan_.names.text(event.name),
                      domain == prescan_.domains.end() ? std::string_view() : domain->second,
                      Nesting::kOverlapping,
                      around(event.parent)};
  if (event.kind == model::RangeKind::kPushPop) {
    // Its own place among the modules is not known: what is called in it ends with it.
    modules_.add({event.id,
                  event.parent,
                  event.tid,
                  0,
                  {event.start_ns, event.end_ns},
                  prescan_.operator_of(event.id) != 0,
                  false});
    const StepPlacement placed =
        prescan_.placement_of(event.id, event.tid, {event.start_ns, event.end_ns});
    const bool apart = (event.flags & (model::kRangeDeep | model::kRangeCrossing)) != 0;
    shown.interval = placed.interval;
    if (!apart) shown.nesting = nesting(placed.place, event.name);
  }
  if (shown.nesting == Nesting::kOverlapping) {
    shown.interval.start_ns = std::max(event.start_ns, prescan_.window.start_ns);
    shown.interval.end_ns =
        std::max(shown.interval.start_ns, std::min(event.end_ns, prescan_.window.end_ns));
  }
  sink_.on(shown);
}

void ResolvePass::op(const model::Operator& event) {
  if (!prescan_.overlaps({event.start_ns, event.end_ns})) return;
  const OpKind kind = classify_recorded_operator(event, prescan_.names.text(event.name));
  if (kind == OpKind::kProfilerStep) return;
  const StepPlacement placed =
      prescan_.placement_of(event.id, event.tid, {event.start_ns, event.end_ns});
  // Where only modules are recorded, what ran in none has no stack.
  const bool known = event.stack != 0 || !prescan_.stacks_requested;
  modules_.add({event.id, event.parent, event.tid, event.stack, placed.interval,
                prescan_.operator_of(event.id) != 0, known});
  order_.add(event, kind, [this](const model::Operator& ready) { show(ready); });
}

void ResolvePass::show(const model::Operator& event) {
  OpKind kind = classify_recorded_operator(event, prescan_.names.text(event.name));
  if (kind == OpKind::kUnprefixedCollective)
    kind =
        prescan_.collectives.record_of(event.id) != 0 ? OpKind::kKnownCollective : OpKind::kPlain;
  const StepPlacement placed =
      prescan_.placement_of(event.id, event.tid, {event.start_ns, event.end_ns});
  ResolvedOperator shown{
      event,
      placed.interval,
      prescan_.names.text(event.name),
      kind,
      prescan_.is_non_nesting(event) ? Nesting::kOverlapping : nesting(placed.place, event.name),
      around(event.parent),
      0,
      nullptr};
  BackwardLinks::Match found;
  if (shown.nesting == Nesting::kOverlapping) {
    shown.interval.start_ns = std::max(event.start_ns, prescan_.window.start_ns);
    shown.interval.end_ns =
        std::max(shown.interval.start_ns, std::min(event.end_ns, prescan_.window.end_ns));
  } else {
    const bool outermost = prescan_.operator_of(event.parent) == 0;
    found = links_.add(event, kind, placed.interval.start_ns, outermost);
    shown.module = found.module;
    shown.link = found.link ? &*found.link : nullptr;
    const auto chain = prescan_.modules.chain(event.stack);
    if (shown.module == 0 && !chain.empty()) shown.module = chain.back().path;
  }
  sink_.on(shown);
}

void ResolvePass::on(const model::ApiCall& event) {
  if (!prescan_.starts_in_window(event.start_ns)) return;
  const bool nested = event.correlation != 0 && drawn_.test_and_set(event.correlation);
  sink_.on(ResolvedApiCall{event, prescan_.names.text(event.name), owner(event.range), nested,
                           prescan_.on_gpu.test(event.correlation)});
}

template <typename E>
void ResolvePass::gpu(const E& event, std::string_view name) {
  if (!prescan_.includes_gpu_event(event.correlation, event.start_ns)) return;
  const bool has_launch = prescan_.launched.test(event.correlation);
  sink_.on(ResolvedGpuEvent<E>{event, name, prescan_.device_of(event.device, event.context),
                               owner(event.range), has_launch,
                               has_launch && !arrived_.test_and_set(event.correlation)});
}

void ResolvePass::on(const model::Sync& event) {
  if (!prescan_.starts_in_window(event.start_ns)) return;
  sink_.on(ResolvedSync{event, name_of(event), prescan_.device_of(model::kNoObject, event.context),
                        owner(event.range)});
}

}  // namespace

EventResolver::EventResolver(const FileRequest& request) : request_(request) {}
EventResolver::~EventResolver() = default;

support::Result<std::unique_ptr<EventResolver>> EventResolver::open(const FileRequest& request) {
  std::unique_ptr<EventResolver> shown(new EventResolver(request));
  GPUPROF_CHECK(prescan_process(request, shown->prescan_, shown->stacks_));
  shown->missing_ = missing_data_messages(shown->prescan_);
  return shown;
}

bool EventResolver::has_simulated_gpu() const { return is_simulated(prescan_); }

support::Result<void> EventResolver::replay(ResolvedSink& sink) {
  const auto pass = std::make_unique<ResolvePass>(prescan_, stacks_, sink);
  pass->steps();
  GPUPROF_TRY(end, read_events(request_, *pass));
  (void)end;  // the first pass has said whether it was complete
  pass->finish();
  return {};
}

WrittenFile EventResolver::make_written_file(std::string_view format, std::uint64_t bytes) const {
  return exporter::make_written_file(request_, prescan_, format, bytes, missing_);
}

}  // namespace gpuprof::exporter
