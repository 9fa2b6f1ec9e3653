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
constexpr std::size_t kMaxOnStepBorder = 100'000;
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

std::int64_t sync_row(const model::Sync& sync) {
  constexpr std::uint32_t kStreamSync = 3;  // CUPTI's value
  if (sync.stream == model::kNoObject) return -1;
  return std::int64_t{sync.stream} + (sync.type == kStreamSync ? kStreamSyncOffset : 0);
}

Survey::Survey(Texts texts) : names(texts) {}
Survey::~Survey() = default;

std::uint64_t Survey::events() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t one : counts) sum += one;
  return sum;
}

std::uint32_t Survey::device_of(std::uint32_t device, std::uint32_t context) const {
  if (devices.contains(device) || (device < 64 && devices.empty())) return device;
  const auto found = contexts.find(context);
  return found == contexts.end() ? device : found->second.device;
}

Placed Survey::placed(model::RangeId id, std::uint32_t tid, Interval range) const {
  if (const auto clip = clipped.find(id); clip != clipped.end())
    range = {clip->second.start_ns, clip->second.end_ns};
  if (const Interval* const drawn = collectives.rejoined(id); drawn != nullptr) range = *drawn;
  Placed placed = place_among_steps(steps, tid, range);
  // A step that another one follows is drawn a nanosecond shorter; so is what ends with it.
  const Interval& drawn = placed.drawn;
  if (placed.place == Place::kFree && drawn.end_ns > drawn.start_ns + 1 && tid == main_tid() &&
      followed_ends.contains(drawn.end_ns))
    --placed.drawn.end_ns;
  return placed;
}

std::uint64_t Survey::border_ns(std::uint32_t tid) const {
  const auto at = threads.find(tid);
  return std::max(window.end_ns, at == threads.end() ? 0 : at->second.last_call_end_ns);
}

std::uint32_t Survey::main_tid() const { return steps.empty() ? pid : steps.front().tid; }

Survey::Thread& Surveyor::thread(std::uint32_t tid) {
  if (last_thread_ != nullptr && tid == last_tid_) return *last_thread_;
  last_tid_ = tid;
  if (s_.threads.size() >= kMaxThreads && !s_.threads.contains(tid)) tid = s_.pid;
  last_thread_ = &s_.threads[tid];
  return *last_thread_;
}

Surveyor::Surveyor(Survey& survey, StackText& stacks) : s_(survey), stacks_(stacks) {}
Surveyor::~Surveyor() = default;

void Surveyor::on(const model::Domain& e) { s_.domains[e.domain] = e.name; }
void Surveyor::on(const model::Fact& e) { s_.facts[std::string(e.key)] = e.value; }
void Surveyor::on(const model::Device& e) { s_.devices[e.device] = e; }
void Surveyor::on(const model::Context& e) { s_.contexts[e.context] = e; }

void Surveyor::on(const model::Range& e) {
  if (!s_.copies.hold(e)) take(e);
}

void Surveyor::on(const model::Operator& e) {
  if (!s_.copies.hold(e)) take(e);
}

void Surveyor::on(const model::Process& e) {
  stacks_.define(e);
  s_.pid = e.pid;
  s_.ppid = e.ppid;
  s_.exe = e.exe;
  s_.command_line = e.command_line;
}

// Those that are too many share the main thread's, which has a name of its own.
void Surveyor::name_thread(const model::ThreadName& e) {
  Survey::Thread& named = thread(e.tid);
  const auto shared = s_.threads.find(s_.pid);
  if (e.tid == s_.pid || shared == s_.threads.end() || &named != &shared->second)
    named.name = e.name;
}

void Surveyor::on(const model::ThreadName& e) {
  if (!e.name.empty()) name_thread(e);
  constexpr std::uint32_t kMasked = 2;  // on the wire: kThreadMasked
  const std::uint64_t until_ns = std::max(s_.window.end_ns, s_.window.settled_ns);
  if ((e.flags & kMasked) == 0) return;
  // Counted once a thread, as the loss is.
  Survey::Thread& it = thread(e.tid);
  if (it.masked_ns == 0) it.masked_ns = e.ts_ns;
  it.masked = it.masked_ns >= s_.window.start_ns && it.masked_ns < until_ns;
}

void Surveyor::on(const model::Notice& e) { s_.notices.add(e.feature, e.level, e.code, e.text); }

void Surveyor::on(const model::Loss& e) {
  Survey::KeptLoss& loss = s_.losses[std::min<std::uint32_t>(e.reason, 1000)];
  loss.total += e.count;
  // Of a run that is recorded from its start on nothing was lost before its first window.
  const bool first = s_.window.gapless && s_.window.index == 0;
  const std::uint64_t from_ns = first ? 0 : std::max(s_.window.start_ns, s_.window.losses_from_ns);
  const std::uint64_t until_ns = std::max(s_.window.end_ns, s_.window.settled_ns);
  if (e.last_ns != 0 && (e.last_ns < from_ns || e.first_ns >= until_ns)) return;
  loss.in_window += share_of(e, from_ns, until_ns);
  loss.first_ns = std::min(loss.first_ns, e.first_ns);
  loss.last_ns = std::max(loss.last_ns, e.last_ns);
}

void Surveyor::on(const model::ClockPair& e) {
  const auto offset = static_cast<std::int64_t>(e.real_ns - e.mono_ns);
  if (s_.clock.pairs++ == 0) s_.clock.first_offset_ns = offset;
  s_.clock.last_offset_ns = offset;
  s_.clock.worst_gap_ns = std::max(s_.clock.worst_gap_ns, e.gap_ns);
}

void Surveyor::on(const model::Sample& e) {
  if (!s_.inside(e.ts_ns)) return;
  auto& thread_info = thread(e.tid);
  thread_info.sampled = true;
  ++(e.state == 0 ? thread_info.running_samples : thread_info.blocked_samples);
  if (e.state == 0) thread_info.sampled_cpu_ns += e.weight_ns;
  ++s_.count(Counted::kSample);
}

/// Counts what is no operator by its flags.
bool Surveyor::is_apart(std::uint32_t flags) {
  if ((flags & model::kRangeDeep) != 0)
    ++s_.count(Shortfall::kDeepRange);
  else if ((flags & model::kRangeCrossing) != 0)
    ++s_.count(Shortfall::kCrossingRange);
  else
    return false;
  return true;
}

void Surveyor::take(const model::Range& e) {
  if (!s_.overlaps({e.start_ns, e.end_ns})) return;
  thread(e.tid).drawn = true;
  if (e.kind == model::RangeKind::kMark) {
    ++s_.count(Counted::kMark);
    return;
  }
  if (e.kind != model::RangeKind::kPushPop) {
    ++s_.count(Counted::kSpan);
    return;
  }
  ++s_.count(Counted::kRange);
  if (is_apart(e.flags)) return;
  nested({e.id, e.tid, e.name, e.start_ns, e.end_ns});
}

void Surveyor::take(const model::Operator& e) {
  if (!s_.overlaps({e.start_ns, e.end_ns})) return;
  thread(e.tid).drawn = true;
  ++s_.count(Counted::kOperator);
  const OpKind kind = recorded_kind(e, s_.names.text(e.name));
  // Drawn as a step or not at all: by its name it would count as one more.
  const bool communicates = kind == OpKind::kCommunication || kind == OpKind::kOtherCollective ||
                            (kind == OpKind::kBareCollective && e.scope == model::kScopeUser);
  const bool deep = (e.flags & model::kRangeDeep) != 0;
  if (!deep && (communicates || kind == OpKind::kCollective))
    s_.collectives.add(e, kind, s_.names.text(e.name));
  if (kind == OpKind::kStep) {
    ++user_steps_;
  } else if (!deep && communicates && (e.flags & model::kRangeCrossing) != 0) {
    // Its end is another operator's; which one is known when all have come.
  } else if (!is_apart(e.flags)) {
    nested({e.id, e.tid, e.name, e.start_ns, e.end_ns});
  }
}

void Surveyor::on(const model::Allocation& e) {
  if (!s_.inside(e.start_ns)) return;
  if (!is_known_memory(e)) {
    ++s_.count(Shortfall::kOtherMemory);
    return;
  }
  thread(e.tid).drawn = true;
  ++s_.count(Counted::kAllocation);
}

void Surveyor::nested(const Straddler& range) {
  s_.ranges_seen.test_and_set(range.id);
  const bool out = range.start_ns < s_.window.start_ns || range.end_ns >= s_.window.end_ns;
  if (out && straddlers_.size() < kMaxStraddlers) straddlers_.push_back(range);
  // A range that began after the last step's end lies in the step that is still running.
  const bool border = !s_.steps.empty() && range.start_ns < s_.steps.back().end_ns &&
                      (range.start_ns < s_.steps.back().start_ns ||
                       range.end_ns + kSnapNs >= s_.steps.back().end_ns);
  if (border && on_step_border_.size() < kMaxOnStepBorder) on_step_border_.push_back(range);
  if (!s_.steps.empty()) follows(s_.steps.back(), range);
  if (border) return;
  if (recent_.size() < kMaxRecent) {
    recent_.push_back(range);
  } else {
    recent_[recent_at_++ % kMaxRecent] = range;
  }
}

// One that began a little before the step's end is drawn from there on.
void Surveyor::follows(const model::Step& step, const Straddler& range) {
  if (range.tid == step.tid && range.end_ns > step.end_ns && range.start_ns > step.start_ns &&
      range.start_ns + kSnapNs >= step.end_ns && range.start_ns <= step.end_ns + kStepMoreNs)
    s_.followed_ends.insert(step.end_ns);
}

void Surveyor::on(const model::Step& e) {
  if (e.start_ns < s_.window.start_ns || e.end_ns > s_.window.end_ns || e.end_ns <= e.start_ns)
    return;
  if (s_.steps.size() >= kMaxSteps) return;
  thread(e.tid).drawn = true;
  s_.steps.push_back(e);
  ++s_.count(Counted::kStep);
  for (const Straddler& range : recent_) {
    const bool touches =
        range.tid == e.tid && (range.start_ns < e.start_ns || range.end_ns + kSnapNs >= e.end_ns);
    if (touches && on_step_border_.size() < kMaxOnStepBorder) on_step_border_.push_back(range);
  }
  recent_.clear();
  recent_at_ = 0;
}

void Surveyor::on(const model::ApiCall& e) {
  if (!s_.inside(e.start_ns)) return;
  Survey::Thread& caller = thread(e.tid);
  caller.drawn = true;
  caller.last_call_end_ns = std::max(caller.last_call_end_ns, e.end_ns);
  ++s_.count(Counted::kCall);
  if (e.range != 0) owners_.test_and_set(e.range);
  if (e.correlation == 0) return;  // read from a trace that tells none
  if (s_.launched.test_and_set(e.correlation)) ++s_.count(Shortfall::kInnerCall);
  s_.first_launched = std::min(s_.first_launched, e.correlation);
}

template <typename E>
void Surveyor::gpu(const E& e, Counted kind) {
  const std::uint32_t device = s_.device_of(e.device, e.context);
  const bool in_time = s_.inside(e.start_ns);
  if (in_time || s_.launched.test(e.correlation)) s_.gpu_rows.insert({device, e.stream});
  const Undecided event{e.correlation, kind, in_time};
  if (s_.launched.test(e.correlation) || undecided_.size() >= kMaxUndecided) {
    decide(event);
  } else {
    undecided_.push_back(event);  // its call may come later in the spool
  }
}

void Surveyor::on(const model::Kernel& e) {
  // Demangled now: whether a name is too long must be said before the first event.
  s_.names.symbol(e.name);
  gpu(e, Counted::kKernel);
}

void Surveyor::decide(const Undecided& event) {
  if (s_.without_calls() ? event.in_time : s_.launched.test(event.correlation)) {
    ++s_.count(event.kind);
    s_.on_gpu.test_and_set(event.correlation);
  } else if (event.in_time && s_.call_lost(event.correlation)) {
    ++s_.count(event.kind);
    ++s_.count(Shortfall::kCallLost);
  } else if (event.in_time) {
    ++s_.count(Shortfall::kLaunchedBefore);
  }
}

void Surveyor::on(const model::Sync& e) {
  if (!s_.inside(e.start_ns)) return;
  ++s_.count(Counted::kSync);
  const std::int64_t row = sync_row(e);
  const std::uint32_t device = s_.device_of(model::kNoObject, e.context);
  if (row == e.stream) {
    s_.gpu_rows.insert({device, row});
  } else {
    s_.sync_rows.insert({device, row});
  }
}

void Surveyor::on(const model::Overhead& e) {
  if (!s_.inside(e.start_ns)) return;
  ++s_.count(Counted::kOverhead);
}

void Surveyor::finish() {
  s_.copies.for_each([this](const auto& e) { take(s_.whole(e)); });
  for (const Undecided& event : undecided_) decide(event);
  undecided_ = {};
  s_.count(Shortfall::kCrossingRange) += s_.collectives.finish().size();
  for (const auto& [id, times] : s_.collectives.all_rejoined()) s_.ranges_seen.test_and_set(id);
  clip_straddlers();
  place_ranges();
  s_.count(Shortfall::kCutName) = s_.names.cut();
  s_.count(Shortfall::kDeepModule) = s_.modules.cut();
  s_.count(Shortfall::kInputsLeftOut) = s_.inputs.left_out();
  const auto own = static_cast<std::uint64_t>(
      std::count_if(s_.steps.begin(), s_.steps.end(), [](const model::Step& step) {
        return step.source == static_cast<std::uint32_t>(StepBy::kUser);
      }));
  s_.count(Shortfall::kForeignStep) = user_steps_ - std::min(own, user_steps_);
}

/// Cuts ranges at the window's border. Each outer one keeps a nanosecond more than the next
/// inner one: equal borders would, once added up in floating point, look like crossing ones.
void Surveyor::clip_straddlers() {
  s_.count(Shortfall::kClippedRange) = straddlers_.size();
  std::sort(straddlers_.begin(), straddlers_.end(), [](const auto& a, const auto& b) {
    return a.start_ns != b.start_ns ? a.start_ns > b.start_ns : a.end_ns < b.end_ns;
  });
  std::unordered_map<std::uint32_t, std::uint64_t> depth;  // innermost first, a thread
  for (const Straddler& range : straddlers_) {
    const std::uint64_t rank = ++depth[range.tid];
    const std::uint64_t first = s_.window.start_ns - std::min(rank, s_.window.start_ns);
    const std::uint64_t last = s_.border_ns(range.tid);
    s_.clipped[range.id] = {std::max(range.start_ns, first), std::min(range.end_ns, last + rank)};
  }
}

void Surveyor::place_ranges() {
  std::sort(s_.steps.begin(), s_.steps.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  const auto place = [this](const Straddler& range) {
    return place_among_steps(s_.steps, range.tid, {range.start_ns, range.end_ns}).place;
  };
  for (const Straddler& range : on_step_border_) {
    const auto next = std::lower_bound(
        s_.steps.begin(), s_.steps.end(), range.start_ns,
        [](const model::Step& step, std::uint64_t ns) { return step.start_ns < ns; });
    if (next != s_.steps.begin()) follows(*std::prev(next), range);
  }
  // By name, so that what is an operator in one step is one in all.
  for (const Straddler& range : on_step_border_)
    if (owners_.test(range.id) && place(range) == Place::kEnclosing)
      s_.step_operators.insert(range.name);
  for (const Straddler& range : on_step_border_) {
    const Place where = place(range);
    if (where == Place::kFree) continue;
    if (where == Place::kEnclosing && s_.step_operators.contains(range.name)) continue;
    if (!s_.not_operators.emplace(range.id, where).second) continue;
    ++s_.count(where == Place::kCrossing ? Shortfall::kCrossingRange : Shortfall::kEnclosingRange);
  }
  on_step_border_ = {};
}

}  // namespace gpuprof::exporter
