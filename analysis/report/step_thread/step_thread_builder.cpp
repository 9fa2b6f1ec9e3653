// SPDX-License-Identifier: Apache-2.0
//
// From resolved events to the StepThread of the thread that steps.
//
// Context:  cli
#include "analysis/report/step_thread/step_thread_builder.hpp"

#include <algorithm>

#include "analysis/report/aggregation/gpu_tables.hpp"
#include "recording/model/imported_values.hpp"

namespace gpuprof::report::advice {
namespace {

/// Frames of a Python stack that are kept: the innermost, enough for any way from a program into an
/// operator, and of deeper ones the outermost, where imports began.
constexpr std::size_t kInnermost = 48, kOutermost = 48;
/// Samples of the thread that are kept.
constexpr std::size_t kMaxSamples = 4'000'000;
/// Autograd's marker for "no number".
constexpr std::int64_t kNoSequence = std::int64_t{1} << 62;

StepThreadOpKind kind_of(const exporter::ResolvedOperator& e) {
  if (e.kind == exporter::OpKind::kEvaluateFunction) return StepThreadOpKind::kEvaluate;
  if (e.name.starts_with("enumerate(DataLoader)")) return StepThreadOpKind::kLoader;
  if (e.name.starts_with("Optimizer.step")) return StepThreadOpKind::kOptimizer;
  return StepThreadOpKind::kPlain;
}

/// A node of autograd, in PyTorch that does not say so.
bool is_node(const exporter::ResolvedOperator& e) {
  return e.event.scope == model::kScopeBackward ||
         e.name.find("Backward") != std::string_view::npos || e.name.ends_with("AccumulateGrad");
}

/// Steps and pauses that other threads are looked at for: so much longer than the step in the
/// middle.
constexpr std::uint64_t kLongTimes = 2, kLongNs = 5'000'000;
/// Samples of other threads that are kept.
constexpr std::size_t kMaxOthers = 400'000;

/// Ranges of the program's own are looked through.
bool counts(const exporter::ResolvedOperator& e, StepThreadOpKind kind) {
  if (e.nesting != exporter::Nesting::kNests) return false;
  return e.event.scope != model::kScopeUser || kind != StepThreadOpKind::kPlain ||
         e.kind == exporter::OpKind::kUserAnnotation;
}

bool covers(const StepThreadOp& outer, const StepThreadOp& inner) {
  return outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns;
}

}  // namespace

std::uint64_t overlap_with_steps(const StepThread& step_thread, std::size_t* at,
                                 std::uint64_t start_ns, std::uint64_t end_ns) {
  while (*at < step_thread.steps.size() && step_thread.steps[*at].end_ns <= start_ns) ++*at;
  std::uint64_t sum = 0;
  for (std::size_t i = *at; i < step_thread.steps.size() && step_thread.steps[i].start_ns < end_ns;
       ++i)
    sum += std::min(end_ns, step_thread.steps[i].end_ns) -
           std::max(start_ns, step_thread.steps[i].start_ns);
  return sum;
}

void StepThreadBuilder::begin(exporter::EventResolver& shown) {
  shown_ = &shown;
  stack_ids_.clear();
  seen_.clear();
  locks_.clear();
  find_long_steps(shown.prescan().steps);
  const model::Window& window = shown.prescan().window;
  if (step_thread_.start_real_ns == 0) step_thread_.start_real_ns = window.stamp_real_ns;
  first_ns_ = std::min(first_ns_, window.start_ns);
  last_ns_ = std::max(last_ns_, window.end_ns);
  if (!shown.prescan().steps.empty()) return;
  tids_.insert(shown.prescan().main_tid());
}

void StepThreadBuilder::on(const exporter::ResolvedStep& e) {
  tids_.insert(e.event.tid);
  if (wanted_ && (e.event.label < wanted_->first || e.event.label > wanted_->second)) return;
  step_thread_.steps.push_back({e.event.start_ns, e.event.end_ns, e.event.tid, e.event.label});
  if (step_thread_.loop.empty()) step_thread_.loop = e.where;
}

void StepThreadBuilder::on(const exporter::ResolvedOperator& e) {
  const StepThreadOpKind kind = kind_of(e);
  if (e.kind == exporter::OpKind::kKnownCollective || e.kind == exporter::OpKind::kCollectiveRecord)
    step_thread_.collectives.push_back({e.interval.start_ns, e.interval.end_ns});
  if (!on_step_thread(e.event.tid)) {
    if (kind == StepThreadOpKind::kEvaluate || is_node(e))
      step_thread_.backward.push_back({e.interval.start_ns, e.interval.end_ns, e.event.sequence});
    return;
  }
  if (!counts(e, kind)) return;
  StepThreadOp op;
  op.start_ns = e.interval.start_ns;
  op.end_ns = e.interval.end_ns;
  // What lies inside an operator that is already there, comes late.
  if (!step_thread_.ops.empty() && covers(step_thread_.ops.back(), op)) return;
  op.sequence = e.event.sequence < kNoSequence ? e.event.sequence : -1;
  op.name = name_of(e.name);
  op.inputs = e.event.inputs;
  op.stack = stack_of(e.event.stack, e.event.start_ns);
  op.kind = kind;
  add_op(op);
}

void StepThreadBuilder::add_op(const StepThreadOp& op) {
  while (!step_thread_.ops.empty() && covers(op, step_thread_.ops.back()))
    step_thread_.ops.pop_back();
  step_thread_.ops.push_back(op);
}

void StepThreadBuilder::on(const exporter::ResolvedApiCall& e) {
  if (!on_step_thread(e.event.tid) || e.nested) return;
  if (e.event.api != model::kApiWait && !is_blocking_call(e.name)) return;
  waits_.push_back({e.event.start_ns, e.event.end_ns, name_of(e.name),
                    e.owner == 0 ? stack_of(e.event.stack, e.event.start_ns) : 0});
}

void StepThreadBuilder::on(const exporter::ResolvedSample& e) {
  ThreadSample sample{e.event.ts_ns, e.event.weight_ns, 0, e.event.state != 0, false, e.event.tid};
  if (on_step_thread(e.event.tid)) {
    if (step_thread_.samples.size() >= kMaxSamples) return;
    sample.stack = stack_of(e.frames);
    sample.waits_for_gil =
        sample.blocked && (waits_for_interpreter(e.frames) ||
                           std::any_of(e.frames.begin(), e.frames.end(),
                                       [this](auto frame) { return wants_lock(frame); }));
    step_thread_.samples.push_back(sample);
    return;
  }
  // Who sleeps may have the lock in its hands.
  if (step_thread_.other_thread_samples.size() >= kMaxOthers || !in_long_step(e.event.ts_ns))
    return;
  sample.stack = stack_of(e.frames);
  if (sample.stack != 0) step_thread_.other_thread_samples.push_back(sample);
}

/// Whether a frame of a waiting thread is where CPython waits for the GIL.
bool StepThreadBuilder::wants_lock(exporter::StackFormatter::Frame frame) {
  const auto [at, unseen] = locks_.try_emplace(frame, false);
  if (!unseen) return at->second;
  if (shown_->stacks().source_location(frame).kind == symbols::FrameKind::kPython) return false;
  const std::string_view name = shown_->stacks().name(frame);
  return at->second = name.find("take_gil") != std::string_view::npos ||
                      name.find("PyEval_RestoreThread") != std::string_view::npos ||
                      name.find("PyEval_AcquireThread") != std::string_view::npos;
}

/// Whether the interpreter itself, whose own frames are not shown as a rule, waits for a condition:
/// that is how it waits for the GIL, and for nothing else (its locks are semaphores).
bool StepThreadBuilder::waits_for_interpreter(
    std::span<const exporter::StackFormatter::Frame> frames) {
  exporter::StackFormatter& stacks = shown_->stacks();
  bool waits = false;
  for (const exporter::StackFormatter::Frame frame : frames) {
    if (stacks.source_location(frame).kind == symbols::FrameKind::kPython) return waits;
    const std::string_view name = stacks.name(frame);
    waits = name.ends_with("!pthread_cond_timedwait");
    if (!waits && name.find("!__futex_abstimed_wait") == std::string_view::npos) return false;
  }
  return false;
}

/// Stretches of a window in which other threads may be what the stepping one waits for.
void StepThreadBuilder::find_long_steps(const std::vector<model::Step>& steps) {
  long_.clear();
  if (steps.empty()) return;
  std::vector<std::uint64_t> lengths;
  for (const model::Step& step : steps) lengths.push_back(step.end_ns - step.start_ns);
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  const std::uint64_t least = std::max(kLongTimes * *middle, *middle + kLongNs);
  std::uint64_t reached = steps.front().start_ns;
  for (const model::Step& step : steps) {
    if (step.start_ns > reached + kLongNs) long_.emplace_back(reached, step.start_ns);
    if (step.end_ns - step.start_ns >= least) long_.emplace_back(step.start_ns, step.end_ns);
    reached = std::max(reached, step.end_ns);
  }
  std::sort(long_.begin(), long_.end());
}

bool StepThreadBuilder::in_long_step(std::uint64_t ts_ns) {
  const auto after =
      std::upper_bound(long_.begin(), long_.end(), std::pair{ts_ns, ~std::uint64_t{0}});
  return after != long_.begin() && ts_ns < std::prev(after)->second;
}

void StepThreadBuilder::on(const exporter::ResolvedOverhead& e) {
  step_thread_.overheads.push_back({e.event.start_ns, e.event.end_ns, name_of(e.name)});
}

void StepThreadBuilder::on(const model::Allocation& e) {
  if (on_step_thread(e.tid)) step_thread_.blocks.push_back({e.start_ns, e.address, e.bytes});
}

std::uint32_t StepThreadBuilder::name_of(std::string_view name) {
  const auto [found, added] =
      names_.try_emplace(std::string(name), static_cast<std::uint32_t>(step_thread_.names.size()));
  if (added) step_thread_.names.emplace_back(name);
  return found->second;
}

FrameId StepThreadBuilder::frame_of(exporter::StackFormatter::Frame frame) {
  const auto [at, unseen] = seen_.try_emplace(frame, 0);
  if (!unseen) return at->second;
  const symbols::DisplayFrame& place = shown_->stacks().source_location(frame);
  if (place.kind != symbols::FrameKind::kPython) return 0;
  const std::string text(shown_->stacks().name(frame));
  const auto [found, added] =
      frames_.try_emplace(text, static_cast<FrameId>(step_thread_.places.frames.size()));
  if (added) {
    step_thread_.places.frames.push_back(
        {text, place.name, place.file, place.line, true, is_user_code_file(place.file)});
  }
  return at->second = found->second;
}

std::uint32_t StepThreadBuilder::stack_of(std::span<const exporter::StackFormatter::Frame> frames) {
  std::vector<FrameId> kept;
  for (const exporter::StackFormatter::Frame frame : frames) {
    const FrameId id = frame_of(frame);
    if (id != 0) kept.push_back(id);
  }
  if (kept.size() > kInnermost + kOutermost)
    kept.erase(kept.begin() + kInnermost, kept.end() - kOutermost);
  if (kept.empty()) return 0;
  std::string key(reinterpret_cast<const char*>(kept.data()), kept.size() * sizeof(FrameId));
  const auto [found, added] = stacks_.try_emplace(
      std::move(key), static_cast<std::uint32_t>(step_thread_.places.stacks.size()));
  if (added) step_thread_.places.stacks.push_back(std::move(kept));
  return found->second;
}

std::uint32_t StepThreadBuilder::stack_of(model::StackId stack, std::uint64_t ts_ns) {
  if (stack == 0) return 0;
  const auto known = stack_ids_.find(stack);
  if (known != stack_ids_.end()) return known->second;
  const std::vector<exporter::StackFormatter::Frame>& frames =
      shown_->stacks().frames(stack, ts_ns);
  return stack_ids_[stack] = stack_of(std::span(frames.data(), frames.size()));
}

void StepThreadBuilder::sort_steps() {
  auto& steps = step_thread_.steps;
  std::sort(steps.begin(), steps.end(),
            [](const TimedStep& a, const TimedStep& b) { return a.start_ns < b.start_ns; });
  if (!steps.empty() || step_thread_.ops.empty() || wanted_) return;
  step_thread_.is_synthetic = true;
  steps.push_back({std::min(first_ns_, step_thread_.ops.front().start_ns),
                   std::max(last_ns_, step_thread_.ops.back().end_ns), 0});
}

void StepThreadBuilder::drop_nested() {
  auto& ops = step_thread_.ops;
  std::sort(ops.begin(), ops.end(), [](const StepThreadOp& a, const StepThreadOp& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::size_t kept = 0;
  std::uint64_t reached_ns = 0;
  for (const StepThreadOp& op : ops) {
    if (op.start_ns < reached_ns) continue;
    reached_ns = op.end_ns;
    ops[kept++] = op;
  }
  ops.resize(kept);
}

/// Each wait to the operator it lies in; the others stay waits of their own.
void StepThreadBuilder::attach_waits() {
  std::sort(waits_.begin(), waits_.end(),
            [](const GpuWait& a, const GpuWait& b) { return a.start_ns < b.start_ns; });
  std::size_t at = 0;
  for (const GpuWait& wait : waits_) {
    while (at < step_thread_.ops.size() && step_thread_.ops[at].end_ns <= wait.start_ns) ++at;
    if (at == step_thread_.ops.size() || step_thread_.ops[at].start_ns > wait.start_ns) {
      step_thread_.waits.push_back(wait);
      continue;
    }
    step_thread_.ops[at].wait_ns += wait.end_ns - wait.start_ns;
    ++step_thread_.ops[at].wait_ops;
  }
  waits_.clear();
}

void StepThreadBuilder::merge_collectives() {
  auto& talks = step_thread_.collectives;
  std::sort(talks.begin(), talks.end(), [](const CollectiveSpan& a, const CollectiveSpan& b) {
    return a.start_ns < b.start_ns;
  });
  std::size_t kept = 0;
  for (const CollectiveSpan& talk : talks) {
    if (kept != 0 && talk.start_ns <= talks[kept - 1].end_ns)
      talks[kept - 1].end_ns = std::max(talks[kept - 1].end_ns, talk.end_ns);
    else
      talks[kept++] = talk;
  }
  talks.resize(kept);
}

StepThread StepThreadBuilder::finish(std::size_t warm_up) {
  drop_nested();
  attach_waits();
  merge_collectives();
  sort_steps();
  const auto apart = step_thread_.steps.begin() +
                     static_cast<std::ptrdiff_t>(std::min(warm_up, step_thread_.steps.size()));
  step_thread_.warm_up.assign(step_thread_.steps.begin(), apart);
  step_thread_.steps.erase(step_thread_.steps.begin(), apart);
  const auto by_time = [](const auto& a, const auto& b) { return a.ts_ns < b.ts_ns; };
  std::stable_sort(step_thread_.samples.begin(), step_thread_.samples.end(), by_time);
  std::stable_sort(step_thread_.other_thread_samples.begin(),
                   step_thread_.other_thread_samples.end(), by_time);
  std::stable_sort(step_thread_.blocks.begin(), step_thread_.blocks.end(), by_time);
  std::sort(step_thread_.backward.begin(), step_thread_.backward.end(),
            [](const BackwardNode& a, const BackwardNode& b) { return a.start_ns < b.start_ns; });
  shown_ = nullptr;
  return std::move(step_thread_);
}

}  // namespace gpuprof::report::advice
