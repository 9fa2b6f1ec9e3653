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

class ShowPass final : public model::IgnoringSink {
 public:
  ShowPass(Survey& survey, StackText& stacks, ShownSink& sink)
      : survey_(survey),
        stacks_(stacks),
        sink_(sink),
        links_(survey.modules),
        order_(links_),
        modules_(survey.modules, survey.steps, [this](const ModuleCall& call) { sink_.on(call); }) {
  }

  void steps() {
    for (const model::Step& step : survey_.steps)
      sink_.on(
          ShownStep{step, step.where != 0 ? survey_.names.text(step.where) : std::string_view()});
  }

  using model::IgnoringSink::on;
  void on(const model::Sample& e) override;
  void on(const model::Range& e) override {
    if (!survey_.copies.replaces(e)) range(survey_.whole(e));
  }
  void on(const model::Operator& e) override {
    if (!survey_.copies.replaces(e)) op(survey_.whole(e));
  }
  void on(const model::Allocation& e) override {
    if (survey_.inside(e.start_ns) && is_known_memory(e)) sink_.on(e);
  }
  void on(const model::ApiCall& e) override;
  void on(const model::Kernel& e) override { gpu(e, survey_.names.symbol(e.name)); }
  void on(const model::MemCopy& e) override { gpu(e, name_of(e)); }
  void on(const model::MemSet& e) override { gpu(e, name_of(e)); }
  void on(const model::GraphExec& e) override { gpu(e, name_of(e)); }
  void on(const model::Sync& e) override;
  void on(const model::Overhead& e) override {
    if (survey_.inside(e.start_ns)) sink_.on(ShownOverhead{e, name_of(e)});
  }

  void finish() {
    order_.finish([this](const model::Operator& e) { show(e); });
    modules_.finish();
  }

 private:
  void range(const model::Range& e);
  void op(const model::Operator& e);
  void show(const model::Operator& e);
  template <typename E>
  void gpu(const E& e, std::string_view name);
  Nesting nesting(Place place, model::StringId name) const;
  model::RangeId owner(model::RangeId range) const;
  model::RangeId around(model::RangeId parent) const {
    return parent != 0 && survey_.ranges_seen.test(parent) ? parent : 0;
  }

  Survey& survey_;
  StackText& stacks_;
  ShownSink& sink_;
  BackwardLinks links_;
  ForwardFirst order_;
  ModuleCalls modules_;
  PagedBits drawn_, arrived_;
  std::unordered_map<std::uint32_t, model::StackId> last_stack_;  // of a thread's samples
};

Nesting ShowPass::nesting(Place place, model::StringId name) const {
  if (place == Place::kCrossing) return Nesting::kApart;
  if (place == Place::kFree || survey_.step_operators.contains(name)) return Nesting::kNests;
  return Nesting::kEnclosing;
}

/// As PyTorch's profiler attributes: what a collective launched belongs to the record in it.
model::RangeId ShowPass::owner(model::RangeId range) const {
  const model::RangeId record = survey_.collectives.record_of(range);
  return survey_.operator_of(record != 0 && survey_.operator_of(record) != 0 ? record : range);
}

void ShowPass::on(const model::Sample& e) {
  if (!survey_.inside(e.ts_ns)) return;
  model::StackId& last = last_stack_[e.tid];
  if (e.state != kStateRepeat || e.stack != 0) last = e.stack;
  model::Sample told = e;
  told.stack = last;
  told.state = e.state == 0 ? 0 : 1;
  const std::vector<StackText::Frame>& frames = stacks_.frames(last, e.ts_ns);
  sink_.on(ShownSample{told, {frames.data(), frames.size()}});
}

void ShowPass::range(const model::Range& e) {
  if (!survey_.overlaps({e.start_ns, e.end_ns})) return;
  const auto domain = survey_.domains.find(e.domain);
  ShownRange shown{e,
                   {e.start_ns, e.end_ns},
                   survey_.names.text(e.name),
                   domain == survey_.domains.end() ? std::string_view() : domain->second,
                   Nesting::kApart,
                   around(e.parent)};
  if (e.kind == model::RangeKind::kPushPop) {
    // Its own place among the modules is not known: what is called in it ends with it.
    modules_.add(
        {e.id, e.parent, e.tid, 0, {e.start_ns, e.end_ns}, survey_.operator_of(e.id) != 0, false});
    const Placed placed = survey_.placed(e.id, e.tid, {e.start_ns, e.end_ns});
    const bool apart = (e.flags & (model::kRangeDeep | model::kRangeCrossing)) != 0;
    shown.drawn = placed.drawn;
    if (!apart) shown.nesting = nesting(placed.place, e.name);
  }
  if (shown.nesting == Nesting::kApart) {
    shown.drawn.start_ns = std::max(e.start_ns, survey_.window.start_ns);
    shown.drawn.end_ns = std::max(shown.drawn.start_ns, std::min(e.end_ns, survey_.window.end_ns));
  }
  sink_.on(shown);
}

void ShowPass::op(const model::Operator& e) {
  if (!survey_.overlaps({e.start_ns, e.end_ns})) return;
  const OpKind kind = recorded_kind(e, survey_.names.text(e.name));
  if (kind == OpKind::kStep) return;
  const Placed placed = survey_.placed(e.id, e.tid, {e.start_ns, e.end_ns});
  // Where only modules are recorded, what ran in none has no stack.
  const bool known = e.stack != 0 || !survey_.stacks_wanted;
  modules_.add(
      {e.id, e.parent, e.tid, e.stack, placed.drawn, survey_.operator_of(e.id) != 0, known});
  order_.add(e, kind, [this](const model::Operator& ready) { show(ready); });
}

void ShowPass::show(const model::Operator& e) {
  OpKind kind = recorded_kind(e, survey_.names.text(e.name));
  if (kind == OpKind::kBareCollective)
    kind = survey_.collectives.record_of(e.id) != 0 ? OpKind::kCommunication : OpKind::kPlain;
  const Placed placed = survey_.placed(e.id, e.tid, {e.start_ns, e.end_ns});
  ShownOp shown{e,
                placed.drawn,
                survey_.names.text(e.name),
                kind,
                survey_.crosses(e) ? Nesting::kApart : nesting(placed.place, e.name),
                around(e.parent),
                0,
                nullptr};
  BackwardLinks::Found found;
  if (shown.nesting == Nesting::kApart) {
    shown.drawn.start_ns = std::max(e.start_ns, survey_.window.start_ns);
    shown.drawn.end_ns = std::max(shown.drawn.start_ns, std::min(e.end_ns, survey_.window.end_ns));
  } else {
    const bool outermost = survey_.operator_of(e.parent) == 0;
    found = links_.add(e, kind, placed.drawn.start_ns, outermost);
    shown.module = found.module;
    shown.link = found.link ? &*found.link : nullptr;
    const auto chain = survey_.modules.chain(e.stack);
    if (shown.module == 0 && !chain.empty()) shown.module = chain.back().path;
  }
  sink_.on(shown);
}

void ShowPass::on(const model::ApiCall& e) {
  if (!survey_.inside(e.start_ns)) return;
  const bool inner = e.correlation != 0 && drawn_.test_and_set(e.correlation);
  sink_.on(ShownCall{e, survey_.names.text(e.name), owner(e.range), inner,
                     survey_.on_gpu.test(e.correlation)});
}

template <typename E>
void ShowPass::gpu(const E& e, std::string_view name) {
  if (!survey_.keeps_gpu(e.correlation, e.start_ns)) return;
  const bool launched = survey_.launched.test(e.correlation);
  sink_.on(ShownGpu<E>{e, name, survey_.device_of(e.device, e.context), owner(e.range), launched,
                       launched && !arrived_.test_and_set(e.correlation)});
}

void ShowPass::on(const model::Sync& e) {
  if (!survey_.inside(e.start_ns)) return;
  sink_.on(
      ShownSync{e, name_of(e), survey_.device_of(model::kNoObject, e.context), owner(e.range)});
}

}  // namespace

Shown::Shown(const FileRequest& request) : request_(request) {}
Shown::~Shown() = default;

support::Result<std::unique_ptr<Shown>> Shown::open(const FileRequest& request) {
  std::unique_ptr<Shown> shown(new Shown(request));
  GPUPROF_CHECK(survey_process(request, shown->survey_, shown->stacks_));
  shown->missing_ = shortfalls(shown->survey_);
  return shown;
}

bool Shown::simulated() const { return is_simulated(survey_); }

support::Result<void> Shown::replay(ShownSink& sink) {
  const auto pass = std::make_unique<ShowPass>(survey_, stacks_, sink);
  pass->steps();
  GPUPROF_TRY(end, read_events(request_, *pass));
  (void)end;  // the first pass has said whether it was complete
  pass->finish();
  return {};
}

FileWritten Shown::written(std::string_view format, std::uint64_t bytes) const {
  return describe(request_, survey_, format, bytes, missing_);
}

}  // namespace gpuprof::exporter
