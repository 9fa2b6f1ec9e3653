// SPDX-License-Identifier: Apache-2.0
//
// Launches joined with GPU work; operators' own time.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/stack_profiles/weighted_stacks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/prescan/step_index.hpp"

namespace gpuprof::exporter {
namespace {

/// Operators around one event that are looked at: a damaged spool may have them in a circle.
constexpr std::size_t kMaxChain = 512;
constexpr std::size_t kMaxKnown = 500'000;
constexpr std::size_t kMaxOpen = 100'000;

/// Of one thread they come in order.
template <typename Rows, typename Before>
void sort_unless_sorted(Rows& rows, Before before) {
  if (!std::is_sorted(rows.begin(), rows.end(), before))
    std::sort(rows.begin(), rows.end(), before);
}

}  // namespace

std::string thread_label(const Survey& survey, std::uint32_t tid) {
  const auto found = survey.threads.find(tid);
  const bool named = found != survey.threads.end() && !found->second.name.empty();
  return fmt::format("{} {}", named ? written_as(Texts::kPlain, found->second.name, 256) : "thread",
                     tid);
}

void LaunchTable::add(const Caller& caller) {
  if (callers_.size() < kMaxRows) {
    callers_.push_back(caller);
  } else {
    ++left_out_;
  }
}

void LaunchTable::on(const ShownOp& o) { add({o.e.id, o.parent, o.e.stack, o.name, true}); }

void LaunchTable::on(const ShownRange& r) {
  if (r.e.kind == model::RangeKind::kPushPop) add({r.e.id, r.parent, r.e.stack, r.name, false});
}

void LaunchTable::on(const ShownCall& c) {
  if (!c.on_gpu || c.inner) return;
  if (launches_.size() < kMaxRows) {
    launches_.push_back({c.e.correlation, c.e.tid, c.e.stack, c.e.start_ns});
  } else {
    ++left_out_;
  }
}

void LaunchTable::finish() {
  sort_unless_sorted(callers_, [](const Caller& a, const Caller& b) { return a.id < b.id; });
  sort_unless_sorted(
      launches_, [](const Launch& a, const Launch& b) { return a.correlation < b.correlation; });
}

const LaunchTable::Caller* LaunchTable::caller(model::RangeId id) const {
  if (id == 0) return nullptr;
  const auto found =
      std::lower_bound(callers_.begin(), callers_.end(), id,
                       [](const Caller& a, model::RangeId wanted) { return a.id < wanted; });
  return found != callers_.end() && found->id == id ? &*found : nullptr;
}

const LaunchTable::Launch* LaunchTable::launch(std::uint32_t correlation) const {
  const auto found = std::lower_bound(
      launches_.begin(), launches_.end(), correlation,
      [](const Launch& a, std::uint32_t wanted) { return a.correlation < wanted; });
  return found != launches_.end() && found->correlation == correlation ? &*found : nullptr;
}

StackedEvents::StackedEvents(Shown& shown, const LaunchTable& launches, StackTree& tree, Top top,
                             Take take)
    : shown_(shown),
      launches_(launches),
      tree_(tree),
      top_(std::move(top)),
      take_(std::move(take)),
      steps_(shown.survey().steps) {}

StackTree::Node StackedEvents::frames(StackTree::Node top, model::StackId stack, std::uint64_t ns) {
  if (stack == 0) return top;
  const std::uint64_t key = std::uint64_t{top} << 32 | stack;
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (known_.size() >= kMaxKnown) known_.clear();
  const StackTree::Node node = tree_.below(top, shown_.stacks().frames(stack, ns), shown_.stacks());
  known_.emplace(key, node);
  return node;
}

StackTree::Node StackedEvents::callers(StackTree::Node top, model::RangeId owner,
                                       model::StackId stack, std::uint64_t ns) {
  chain_.clear();
  model::StackId of_operator = 0, of_range = 0;
  for (const LaunchTable::Caller* one = launches_.caller(owner);
       one != nullptr && chain_.size() < kMaxChain; one = launches_.caller(one->parent)) {
    chain_.push_back(one->name);
    model::StackId& first = one->is_operator ? of_operator : of_range;
    if (first == 0) first = one->stack;
  }
  // The frames around the operators do not hold what runs inside them, as those of the launch do.
  const model::StackId best = of_operator != 0 ? of_operator : stack != 0 ? stack : of_range;
  StackTree::Node node = frames(top, best, ns);
  for (auto name = chain_.rbegin(); name != chain_.rend(); ++name)
    node = tree_.child(node, tree_.named(*name));
  return node;
}

void StackedEvents::on(const ShownSample& s) {
  const bool runs = s.e.state == 0;
  const Stacked::What what = runs ? Stacked::What::kCpu : Stacked::What::kBlocked;
  const StackTree::Node at_top = top(what, s.e.tid, 0);
  StackTree::Node node = frames(at_top, s.e.stack, s.e.ts_ns);
  if (s.frames.empty()) node = tree_.child(at_top, tree_.named("(no stack)"));
  take_({what, false, s.e.tid, 0, std::min(s.e.weight_ns, kMaxSampleNs), step_at(steps_, s.e.ts_ns),
         node});
}

template <typename E>
void StackedEvents::own_time(const E& o) {
  if (o.nesting == Nesting::kApart) return;
  const std::uint64_t whole_ns = o.drawn.end_ns - o.drawn.start_ns;
  std::uint64_t inside_ns = 0;
  if (const auto found = inside_.find(o.e.id); found != inside_.end()) {
    inside_ns = std::min(found->second, whole_ns);
    inside_.erase(found);
  }
  if (o.parent != 0) {
    if (inside_.size() >= kMaxOpen) inside_.clear();
    inside_[o.parent] += whole_ns;
  }
  const StackTree::Node at_top = top(Stacked::What::kOperator, o.e.tid, 0);
  const StackTree::Node node = callers(at_top, o.e.id, o.e.stack, o.e.start_ns);
  take_({Stacked::What::kOperator, false, o.e.tid, 0, whole_ns - inside_ns,
         step_at(steps_, o.drawn.start_ns), node});
}

template void StackedEvents::own_time(const ShownOp& shown);
template void StackedEvents::own_time(const ShownRange& shown);

template <typename E>
void StackedEvents::gpu(const ShownGpu<E>& s, bool kernel) {
  const LaunchTable::Launch* const launch =
      s.launched ? launches_.launch(s.e.correlation) : nullptr;
  const std::uint32_t tid = launch != nullptr ? launch->tid : s.e.launch_tid;
  const std::uint64_t at = launch != nullptr ? launch->start_ns : s.e.start_ns;
  const StackTree::Node at_top = top(Stacked::What::kGpu, tid, s.device);
  StackTree::Node node = callers(at_top, s.owner, launch != nullptr ? launch->stack : 0, at);
  node = tree_.child(node, tree_.named(s.name));
  const std::uint64_t ns = s.e.end_ns > s.e.start_ns ? s.e.end_ns - s.e.start_ns : 0;
  take_({Stacked::What::kGpu, kernel, tid, s.device, ns, step_at(steps_, at), node});
}

template void StackedEvents::gpu(const ShownGpu<model::Kernel>& shown, bool kernel);
template void StackedEvents::gpu(const ShownGpu<model::MemCopy>& shown, bool kernel);
template void StackedEvents::gpu(const ShownGpu<model::MemSet>& shown, bool kernel);
template void StackedEvents::gpu(const ShownGpu<model::GraphExec>& shown, bool kernel);

support::Result<void> read_stacked(Shown& shown, StackTree& tree, StackedEvents::Top top,
                                   StackedEvents::Take take) {
  LaunchTable launches;
  GPUPROF_CHECK(shown.replay(launches));
  launches.finish();
  StackedEvents events(shown, launches, tree, std::move(top), std::move(take));
  return shown.replay(events);
}

}  // namespace gpuprof::exporter
