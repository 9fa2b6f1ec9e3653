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

std::string thread_label(const Prescan& prescan, std::uint32_t tid) {
  const auto found = prescan.threads.find(tid);
  const bool named = found != prescan.threads.end() && !found->second.name.empty();
  return fmt::format(
      "{} {}", named ? encode_text(TextEncoding::kUtf8, found->second.name, 256) : "thread", tid);
}

void LaunchTable::add(const Caller& caller) {
  if (callers_.size() < kMaxRows) {
    callers_.push_back(caller);
  } else {
    ++left_out_;
  }
}

void LaunchTable::on(const ResolvedOperator& o) {
  add({o.event.id, o.parent, o.event.stack, o.name, true});
}

void LaunchTable::on(const ResolvedRange& r) {
  if (r.event.kind == model::RangeKind::kPushPop)
    add({r.event.id, r.parent, r.event.stack, r.name, false});
}

void LaunchTable::on(const ResolvedApiCall& c) {
  if (!c.has_gpu_work || c.nested) return;
  if (launches_.size() < kMaxRows) {
    launches_.push_back({c.event.correlation, c.event.tid, c.event.stack, c.event.start_ns});
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

WeightedStackSink::WeightedStackSink(EventResolver& shown, const LaunchTable& launches,
                                     StackTree& tree, RootFor top, Callback take)
    : shown_(shown),
      launches_(launches),
      tree_(tree),
      top_(std::move(top)),
      take_(std::move(take)),
      steps_(shown.prescan().steps) {}

StackTree::Node WeightedStackSink::frames(StackTree::Node top, model::StackId stack,
                                          std::uint64_t ns) {
  if (stack == 0) return top;
  const std::uint64_t key = std::uint64_t{top} << 32 | stack;
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (known_.size() >= kMaxKnown) known_.clear();
  const StackTree::Node node =
      tree_.add_stack(top, shown_.stacks().frames(stack, ns), shown_.stacks());
  known_.emplace(key, node);
  return node;
}

StackTree::Node WeightedStackSink::callers(StackTree::Node top, model::RangeId owner,
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
    node = tree_.child(node, tree_.intern_name(*name));
  return node;
}

void WeightedStackSink::on(const ResolvedSample& s) {
  const bool runs = s.event.state == 0;
  const WeightedStack::WeightKind what =
      runs ? WeightedStack::WeightKind::kOnCpu : WeightedStack::WeightKind::kBlocked;
  const StackTree::Node at_top = top(what, s.event.tid, 0);
  StackTree::Node node = frames(at_top, s.event.stack, s.event.ts_ns);
  if (s.frames.empty()) node = tree_.child(at_top, tree_.intern_name("(no stack)"));
  take_({what, false, s.event.tid, 0, std::min(s.event.weight_ns, kMaxSampleNs),
         step_at(steps_, s.event.ts_ns), node});
}

template <typename E>
void WeightedStackSink::add_self_time(const E& o) {
  if (o.nesting == Nesting::kOverlapping) return;
  const std::uint64_t whole_ns = o.interval.end_ns - o.interval.start_ns;
  std::uint64_t inside_ns = 0;
  if (const auto found = child_ns_.find(o.event.id); found != child_ns_.end()) {
    inside_ns = std::min(found->second, whole_ns);
    child_ns_.erase(found);
  }
  if (o.parent != 0) {
    if (child_ns_.size() >= kMaxOpen) child_ns_.clear();
    child_ns_[o.parent] += whole_ns;
  }
  const StackTree::Node at_top = top(WeightedStack::WeightKind::kOperator, o.event.tid, 0);
  const StackTree::Node node = callers(at_top, o.event.id, o.event.stack, o.event.start_ns);
  take_({WeightedStack::WeightKind::kOperator, false, o.event.tid, 0, whole_ns - inside_ns,
         step_at(steps_, o.interval.start_ns), node});
}

template void WeightedStackSink::add_self_time(const ResolvedOperator& shown);
template void WeightedStackSink::add_self_time(const ResolvedRange& shown);

template <typename E>
void WeightedStackSink::gpu(const ResolvedGpuEvent<E>& s, bool kernel) {
  const LaunchTable::Launch* const launch =
      s.has_launch ? launches_.launch(s.event.correlation) : nullptr;
  const std::uint32_t tid = launch != nullptr ? launch->tid : s.event.launch_tid;
  const std::uint64_t at = launch != nullptr ? launch->start_ns : s.event.start_ns;
  const StackTree::Node at_top = top(WeightedStack::WeightKind::kGpu, tid, s.device);
  StackTree::Node node = callers(at_top, s.owner, launch != nullptr ? launch->stack : 0, at);
  node = tree_.child(node, tree_.intern_name(s.name));
  const std::uint64_t ns =
      s.event.end_ns > s.event.start_ns ? s.event.end_ns - s.event.start_ns : 0;
  take_({WeightedStack::WeightKind::kGpu, kernel, tid, s.device, ns, step_at(steps_, at), node});
}

template void WeightedStackSink::gpu(const ResolvedGpuEvent<model::Kernel>& shown, bool kernel);
template void WeightedStackSink::gpu(const ResolvedGpuEvent<model::MemCopy>& shown, bool kernel);
template void WeightedStackSink::gpu(const ResolvedGpuEvent<model::MemSet>& shown, bool kernel);
template void WeightedStackSink::gpu(const ResolvedGpuEvent<model::GraphExec>& shown, bool kernel);

support::Result<void> collect_weighted_stacks(EventResolver& shown, StackTree& tree,
                                              WeightedStackSink::RootFor top,
                                              WeightedStackSink::Callback take) {
  LaunchTable launches;
  GPUPROF_CHECK(shown.replay(launches));
  launches.finish();
  WeightedStackSink events(shown, launches, tree, std::move(top), std::move(take));
  return shown.replay(events);
}

}  // namespace gpuprof::exporter
