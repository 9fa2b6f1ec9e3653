// SPDX-License-Identifier: Apache-2.0
//
// The first pass: counting, deciding what is kept, clipping what reaches over the border.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/prescan/prescan.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/export/labels/operator_names.hpp"
#include "analysis/export/labels/recorded_kind.hpp"
#include "recording/model/loss.hpp"

namespace gpuprof::exporter {
namespace {

/// Bounds of what is kept a file: beyond them the rule for ordinary events holds.
constexpr std::size_t kMaxOnStepBoundary = 100'000;
constexpr std::size_t kMaxUndecided = 2'000'000;
constexpr std::size_t kMaxRecent = 65'536;
constexpr std::size_t kMaxThreads = 20'000;
constexpr std::size_t kMaxSteps = 1'000'000;

// Of records that were lost from before the window on or until after it, the part that its share
// of the time stands for: two windows one after the other do not both lack all of them.
std::uint64_t share_of(const model::Loss& e, std::uint64_t start_ns, std::uint64_t until_ns) {
  const std::uint64_t since_ns = std::max(e.first_ns, start_ns);
  const std::uint64_t length_ns = e.last_ns - std::min(e.first_ns, e.last_ns);
  const std::uint64_t here_ns = std::min(e.last_ns, until_ns) - since_ns;
  if (e.last_ns == 0 || here_ns >= length_ns ||
      !model::counts_records(static_cast<model::LossReason>(e.reason)))
    return e.count;
  const double share = static_cast<double>(here_ns) / static_cast<double>(length_ns);
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::llround(share * static_cast<double>(e.count))));
}

}  // namespace

std::int64_t sync_track(const model::Sync& sync) {
  constexpr std::uint32_t kStreamSync = 3;  // CUPTI's value
  if (sync.stream == model::kNoObject) return -1;
  return std::int64_t{sync.stream} + (sync.type == kStreamSync ? kSyncTrackOffset : 0);
}

Prescan::Prescan(TextEncoding texts) : names(texts) {}
Prescan::~Prescan() = default;

std::uint64_t Prescan::events() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t one : counts) sum += one;
  return sum;
}

std::uint32_t Prescan::device_of(std::uint32_t device, std::uint32_t context) const {
  if (devices.contains(device) || (device < 64 && devices.empty())) return device;
  const auto found = contexts.find(context);
  return found == contexts.end() ? device : found->second.device;
}

StepPlacement Prescan::placement_of(model::RangeId id, std::uint32_t tid, Interval range) const {
  if (const auto clip = clipped.find(id); clip != clipped.end())
    range = {clip->second.start_ns, clip->second.end_ns};
  if (const Interval* const extended = collectives.extended_interval(id); extended != nullptr)
    range = *extended;
  StepPlacement placement = place_in_steps(steps, tid, range);
  // A step that another one follows is drawn a nanosecond shorter; so is what ends with it.
  const Interval& drawn = placement.interval;
  if (placement.place == StepRelation::kNonCrossing && drawn.end_ns > drawn.start_ns + 1 &&
      tid == main_tid() && abutted_step_ends.contains(drawn.end_ns))
    --placement.interval.end_ns;
  return placement;
}

std::uint64_t Prescan::clip_end_ns(std::uint32_t tid) const {
  const auto at = threads.find(tid);
  return std::max(window.end_ns, at == threads.end() ? 0 : at->second.last_call_end_ns);
}

std::uint32_t Prescan::main_tid() const { return steps.empty() ? pid : steps.front().tid; }

Prescan::Thread& Prescanner::thread(std::uint32_t tid) {
  if (last_thread_ != nullptr && tid == last_tid_) return *last_thread_;
  last_tid_ = tid;
  if (result_.threads.size() >= kMaxThreads && !result_.threads.contains(tid)) tid = result_.pid;
  last_thread_ = &result_.threads[tid];
  return *last_thread_;
}

Prescanner::Prescanner(Prescan& prescan, StackFormatter& stacks)
    : result_(prescan), stacks_(stacks) {}
Prescanner::~Prescanner() = default;

void Prescanner::on(const model::Domain& e) { result_.domains[e.domain] = e.name; }
void Prescanner::on(const model::Fact& e) { result_.facts[std::string(e.key)] = e.value; }
void Prescanner::on(const model::Device& e) { result_.devices[e.device] = e; }
void Prescanner::on(const model::Context& e) { result_.contexts[e.context] = e; }

void Prescanner::on(const model::Range& e) {
  if (!result_.open_ranges.add_snapshot(e)) take(e);
}

void Prescanner::on(const model::Operator& e) {
  if (!result_.open_ranges.add_snapshot(e)) take(e);
}

void Prescanner::on(const model::Process& e) {
  stacks_.define(e);
  result_.pid = e.pid;
  result_.ppid = e.ppid;
  result_.exe = e.exe;
  result_.command_line = e.command_line;
}

// Those that are too many share the main thread's, which has a name of its own.
void Prescanner::name_thread(const model::ThreadName& e) {
  Prescan::Thread& named = thread(e.tid);
  const auto shared = result_.threads.find(result_.pid);
  if (e.tid == result_.pid || shared == result_.threads.end() || &named != &shared->second)
    named.name = e.name;
}

void Prescanner::on(const model::ThreadName& e) {
  if (!e.name.empty()) name_thread(e);
  constexpr std::uint32_t kMasked = 2;  // on the wire: kThreadMasked
  const std::uint64_t until_ns = std::max(result_.window.end_ns, result_.window.settled_ns);
  if ((e.flags & kMasked) == 0) return;
  // Counted once a thread, as the loss is.
  Prescan::Thread& it = thread(e.tid);
  if (it.signal_masked_since_ns == 0) it.signal_masked_since_ns = e.ts_ns;
  it.signal_masked =
      it.signal_masked_since_ns >= result_.window.start_ns && it.signal_masked_since_ns < until_ns;
}

void Prescanner::on(const model::Notice& e) {
  result_.notices.add(e.feature, e.level, e.code, e.text);
}

void Prescanner::on(const model::Loss& e) {
  Prescan::LossTotals& loss = result_.losses[std::min<std::uint32_t>(e.reason, 1000)];
  loss.total += e.count;
  // Of a run that is recorded from its start on nothing was lost before its first window.
  const bool first = result_.window.gapless && result_.window.index == 0;
  const std::uint64_t from_ns =
      first ? 0 : std::max(result_.window.start_ns, result_.window.losses_from_ns);
  const std::uint64_t until_ns = std::max(result_.window.end_ns, result_.window.settled_ns);
  if (e.last_ns != 0 && (e.last_ns < from_ns || e.first_ns >= until_ns)) return;
  loss.in_window += share_of(e, from_ns, until_ns);
  loss.first_ns = std::min(loss.first_ns, e.first_ns);
  loss.last_ns = std::max(loss.last_ns, e.last_ns);
}

void Prescanner::on(const model::ClockSnapshot& e) {
  const auto offset = static_cast<std::int64_t>(e.real_ns - e.mono_ns);
  if (result_.clock.pairs++ == 0) result_.clock.first_offset_ns = offset;
  result_.clock.last_offset_ns = offset;
  result_.clock.worst_gap_ns = std::max(result_.clock.worst_gap_ns, e.gap_ns);
}

void Prescanner::on(const model::Sample& e) {
  if (!result_.starts_in_window(e.ts_ns)) return;
  auto& thread_info = thread(e.tid);
  thread_info.sampled = true;
  ++(e.state == 0 ? thread_info.on_cpu_samples : thread_info.off_cpu_samples);
  if (e.state == 0) thread_info.sampled_cpu_ns += e.weight_ns;
  ++result_.count(EventKind::kSample);
}

/// Counts what is no operator by its flags.
bool Prescanner::drawn_separately(std::uint32_t flags) {
  if ((flags & model::kRangeDeep) != 0)
    ++result_.count(OmissionReason::kDeepRange);
  else if ((flags & model::kRangeCrossing) != 0)
    ++result_.count(OmissionReason::kNonNestingRange);
  else
    return false;
  return true;
}

void Prescanner::take(const model::Range& e) {
  if (!result_.overlaps({e.start_ns, e.end_ns})) return;
  thread(e.tid).has_events = true;
  if (e.kind == model::RangeKind::kMark) {
    ++result_.count(EventKind::kMark);
    return;
  }
  if (e.kind != model::RangeKind::kPushPop) {
    ++result_.count(EventKind::kSpan);
    return;
  }
  ++result_.count(EventKind::kRange);
  if (drawn_separately(e.flags)) return;
  add_nested({e.id, e.tid, e.name, e.start_ns, e.end_ns});
}

void Prescanner::take(const model::Operator& e) {
  if (!result_.overlaps({e.start_ns, e.end_ns})) return;
  thread(e.tid).has_events = true;
  ++result_.count(EventKind::kOperator);
  const OpKind kind = classify_recorded_operator(e, result_.names.text(e.name));
  // Drawn as a step or not at all: by its name it would count as one more.
  const bool communicates = kind == OpKind::kKnownCollective || kind == OpKind::kOtherCollective ||
                            (kind == OpKind::kUnprefixedCollective && e.scope == model::kScopeUser);
  const bool deep = (e.flags & model::kRangeDeep) != 0;
  if (!deep && (communicates || kind == OpKind::kCollectiveRecord))
    result_.collectives.add(e, kind, result_.names.text(e.name));
  if (kind == OpKind::kProfilerStep) {
    ++user_steps_;
  } else if (!deep && communicates && (e.flags & model::kRangeCrossing) != 0) {
    // Its end is another operator's; which one is known when all have come.
  } else if (!drawn_separately(e.flags)) {
    add_nested({e.id, e.tid, e.name, e.start_ns, e.end_ns});
  }
}

void Prescanner::on(const model::Allocation& e) {
  if (!result_.starts_in_window(e.start_ns)) return;
  if (!is_supported_memory(e)) {
    ++result_.count(OmissionReason::kUnknownMemory);
    return;
  }
  thread(e.tid).has_events = true;
  ++result_.count(EventKind::kAllocation);
}

void Prescanner::add_nested(const BoundaryRange& range) {
  result_.operator_ids.test_and_set(range.id);
  const bool out =
      range.start_ns < result_.window.start_ns || range.end_ns >= result_.window.end_ns;
  if (out && straddlers_.size() < kMaxBoundaryRanges) straddlers_.push_back(range);
  // A range that began after the last step's end lies in the step that is still running.
  const bool boundary = !result_.steps.empty() && range.start_ns < result_.steps.back().end_ns &&
                        (range.start_ns < result_.steps.back().start_ns ||
                         range.end_ns + kSnapToleranceNs >= result_.steps.back().end_ns);
  if (boundary && on_step_boundary_.size() < kMaxOnStepBoundary) on_step_boundary_.push_back(range);
  if (!result_.steps.empty()) note_abutting(result_.steps.back(), range);
  if (boundary) return;
  if (recent_ranges_.size() < kMaxRecent) {
    recent_ranges_.push_back(range);
  } else {
    recent_ranges_[recent_at_++ % kMaxRecent] = range;
  }
}

// One that began a little before the step's end is drawn from there on.
void Prescanner::note_abutting(const model::Step& step, const BoundaryRange& range) {
  if (range.tid == step.tid && range.end_ns > step.end_ns && range.start_ns > step.start_ns &&
      range.start_ns + kSnapToleranceNs >= step.end_ns &&
      range.start_ns <= step.end_ns + kStepPaddingNs)
    result_.abutted_step_ends.insert(step.end_ns);
}

void Prescanner::on(const model::Step& e) {
  if (e.start_ns < result_.window.start_ns || e.end_ns > result_.window.end_ns ||
      e.end_ns <= e.start_ns)
    return;
  if (result_.steps.size() >= kMaxSteps) return;
  thread(e.tid).has_events = true;
  result_.steps.push_back(e);
  ++result_.count(EventKind::kStep);
  for (const BoundaryRange& range : recent_ranges_) {
    const bool touches = range.tid == e.tid && (range.start_ns < e.start_ns ||
                                                range.end_ns + kSnapToleranceNs >= e.end_ns);
    if (touches && on_step_boundary_.size() < kMaxOnStepBoundary)
      on_step_boundary_.push_back(range);
  }
  recent_ranges_.clear();
  recent_at_ = 0;
}

void Prescanner::on(const model::ApiCall& e) {
  if (!result_.starts_in_window(e.start_ns)) return;
  Prescan::Thread& caller = thread(e.tid);
  caller.has_events = true;
  caller.last_call_end_ns = std::max(caller.last_call_end_ns, e.end_ns);
  ++result_.count(EventKind::kApiCall);
  if (e.range != 0) owners_.test_and_set(e.range);
  if (e.correlation == 0) return;  // read from a trace that tells none
  if (result_.launched.test_and_set(e.correlation)) ++result_.count(OmissionReason::kNestedCall);
  result_.first_launched = std::min(result_.first_launched, e.correlation);
}

template <typename E>
void Prescanner::gpu(const E& e, EventKind kind) {
  const std::uint32_t device = result_.device_of(e.device, e.context);
  const bool in_time = result_.starts_in_window(e.start_ns);
  if (in_time || result_.launched.test(e.correlation))
    result_.gpu_tracks.insert({device, e.stream});
  const PendingGpuEvent event{e.correlation, kind, in_time};
  if (result_.launched.test(e.correlation) || undecided_.size() >= kMaxUndecided) {
    resolve_pending(event);
  } else {
    undecided_.push_back(event);  // its call may come later in the spool
  }
}

void Prescanner::on(const model::Kernel& e) {
  // Demangled now: whether a name is too long must be said before the first event.
  result_.names.symbol(e.name);
  gpu(e, EventKind::kKernel);
}

void Prescanner::resolve_pending(const PendingGpuEvent& event) {
  if (result_.has_no_launches() ? event.in_time : result_.launched.test(event.correlation)) {
    ++result_.count(event.kind);
    result_.on_gpu.test_and_set(event.correlation);
  } else if (event.in_time && result_.launch_lost(event.correlation)) {
    ++result_.count(event.kind);
    ++result_.count(OmissionReason::kLaunchLost);
  } else if (event.in_time) {
    ++result_.count(OmissionReason::kLaunchBeforeWindow);
  }
}

void Prescanner::on(const model::Sync& e) {
  if (!result_.starts_in_window(e.start_ns)) return;
  ++result_.count(EventKind::kSync);
  const std::int64_t row = sync_track(e);
  const std::uint32_t device = result_.device_of(model::kNoObject, e.context);
  if (row == e.stream) {
    result_.gpu_tracks.insert({device, row});
  } else {
    result_.sync_tracks.insert({device, row});
  }
}

void Prescanner::on(const model::Overhead& e) {
  if (!result_.starts_in_window(e.start_ns)) return;
  ++result_.count(EventKind::kOverhead);
}

void Prescanner::finish() {
  result_.open_ranges.for_each([this](const auto& e) { take(result_.with_open_end(e)); });
  for (const PendingGpuEvent& event : undecided_) resolve_pending(event);
  undecided_ = {};
  result_.count(OmissionReason::kNonNestingRange) += result_.collectives.finish().size();
  for (const auto& [id, times] : result_.collectives.extended_intervals())
    result_.operator_ids.test_and_set(id);
  clip_straddlers();
  place_ranges();
  result_.count(OmissionReason::kTruncatedName) = result_.names.truncated_names();
  result_.count(OmissionReason::kDeepModule) = result_.modules.truncated_stacks();
  result_.count(OmissionReason::kInputsDropped) = result_.inputs.left_out();
  const auto own = static_cast<std::uint64_t>(
      std::count_if(result_.steps.begin(), result_.steps.end(), [](const model::Step& step) {
        return step.source == static_cast<std::uint32_t>(StepOrigin::kUser);
      }));
  result_.count(OmissionReason::kUserStepRange) = user_steps_ - std::min(own, user_steps_);
}

/// Cuts ranges at the window's border. Each outer one keeps a nanosecond more than the next
/// inner one: equal borders would, once added up in floating point, look like crossing ones.
void Prescanner::clip_straddlers() {
  result_.count(OmissionReason::kClippedAtWindow) = straddlers_.size();
  std::sort(straddlers_.begin(), straddlers_.end(), [](const auto& a, const auto& b) {
    return a.start_ns != b.start_ns ? a.start_ns > b.start_ns : a.end_ns < b.end_ns;
  });
  std::unordered_map<std::uint32_t, std::uint64_t> depth;  // innermost first, a thread
  for (const BoundaryRange& range : straddlers_) {
    const std::uint64_t rank = ++depth[range.tid];
    const std::uint64_t first = result_.window.start_ns - std::min(rank, result_.window.start_ns);
    const std::uint64_t last = result_.clip_end_ns(range.tid);
    result_.clipped[range.id] = {std::max(range.start_ns, first),
                                 std::min(range.end_ns, last + rank)};
  }
}

void Prescanner::place_ranges() {
  std::sort(result_.steps.begin(), result_.steps.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  const auto place = [this](const BoundaryRange& range) {
    return place_in_steps(result_.steps, range.tid, {range.start_ns, range.end_ns}).place;
  };
  for (const BoundaryRange& range : on_step_boundary_) {
    const auto next = std::lower_bound(
        result_.steps.begin(), result_.steps.end(), range.start_ns,
        [](const model::Step& step, std::uint64_t ns) { return step.start_ns < ns; });
    if (next != result_.steps.begin()) note_abutting(*std::prev(next), range);
  }
  // By name, so that what is an operator in one step is one in all.
  for (const BoundaryRange& range : on_step_boundary_)
    if (owners_.test(range.id) && place(range) == StepRelation::kEnclosing)
      result_.launching_step_ranges.insert(range.name);
  for (const BoundaryRange& range : on_step_boundary_) {
    const StepRelation where = place(range);
    if (where == StepRelation::kNonCrossing) continue;
    if (where == StepRelation::kEnclosing && result_.launching_step_ranges.contains(range.name))
      continue;
    if (!result_.step_crossing_ranges.emplace(range.id, where).second) continue;
    ++result_.count(where == StepRelation::kCrossing ? OmissionReason::kNonNestingRange
                                                     : OmissionReason::kEnclosingRange);
  }
  on_step_boundary_ = {};
}

}  // namespace gpuprof::exporter
