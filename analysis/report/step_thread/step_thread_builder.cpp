// SPDX-License-Identifier: Apache-2.0
//
// From shown events to the story of the thread that steps.
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

StoryKind kind_of(const exporter::ShownOp& e) {
  if (e.kind == exporter::OpKind::kEvaluate) return StoryKind::kEvaluate;
  if (e.name.starts_with("enumerate(DataLoader)")) return StoryKind::kLoader;
  if (e.name.starts_with("Optimizer.step")) return StoryKind::kOptimizer;
  return StoryKind::kPlain;
}

/// A node of autograd, in PyTorch that does not say so.
bool is_node(const exporter::ShownOp& e) {
  return e.e.scope == model::kScopeBackward || e.name.find("Backward") != std::string_view::npos ||
         e.name.ends_with("AccumulateGrad");
}

/// Steps and pauses that other threads are looked at for: so much longer than the step in the
/// middle.
constexpr std::uint64_t kLongTimes = 2, kLongNs = 5'000'000;
/// Samples of other threads that are kept.
constexpr std::size_t kMaxOthers = 400'000;

/// Ranges of the program's own are looked through.
bool counts(const exporter::ShownOp& e, StoryKind kind) {
  if (e.nesting != exporter::Nesting::kNests) return false;
  return e.e.scope != model::kScopeUser || kind != StoryKind::kPlain ||
         e.kind == exporter::OpKind::kUserAnnotation;
}

bool covers(const StoryOp& outer, const StoryOp& inner) {
  return outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns;
}

}  // namespace

std::uint64_t inside_steps(const Story& story, std::size_t* at, std::uint64_t start_ns,
                           std::uint64_t end_ns) {
  while (*at < story.steps.size() && story.steps[*at].end_ns <= start_ns) ++*at;
  std::uint64_t sum = 0;
  for (std::size_t i = *at; i < story.steps.size() && story.steps[i].start_ns < end_ns; ++i)
    sum += std::min(end_ns, story.steps[i].end_ns) - std::max(start_ns, story.steps[i].start_ns);
  return sum;
}

void StoryPart::begin(exporter::Shown& shown) {
  shown_ = &shown;
  stack_ids_.clear();
  seen_.clear();
  locks_.clear();
  find_long(shown.survey().steps);
  const model::Window& window = shown.survey().window;
  if (story_.start_real_ns == 0) story_.start_real_ns = window.stamp_real_ns;
  first_ns_ = std::min(first_ns_, window.start_ns);
  last_ns_ = std::max(last_ns_, window.end_ns);
  if (!shown.survey().steps.empty()) return;
  tids_.insert(shown.survey().main_tid());
}

void StoryPart::on(const exporter::ShownStep& e) {
  tids_.insert(e.e.tid);
  if (wanted_ && (e.e.label < wanted_->first || e.e.label > wanted_->second)) return;
  story_.steps.push_back({e.e.start_ns, e.e.end_ns, e.e.tid, e.e.label});
  if (story_.loop.empty()) story_.loop = e.where;
}

void StoryPart::on(const exporter::ShownOp& e) {
  const StoryKind kind = kind_of(e);
  if (e.kind == exporter::OpKind::kCommunication || e.kind == exporter::OpKind::kCollective)
    story_.talks.push_back({e.drawn.start_ns, e.drawn.end_ns});
  if (!on_step_thread(e.e.tid)) {
    if (kind == StoryKind::kEvaluate || is_node(e))
      story_.backward.push_back({e.drawn.start_ns, e.drawn.end_ns, e.e.sequence});
    return;
  }
  if (!counts(e, kind)) return;
  StoryOp op;
  op.start_ns = e.drawn.start_ns;
  op.end_ns = e.drawn.end_ns;
  // What lies inside an operator that is already there, comes late.
  if (!story_.ops.empty() && covers(story_.ops.back(), op)) return;
  op.sequence = e.e.sequence < kNoSequence ? e.e.sequence : -1;
  op.name = name_of(e.name);
  op.inputs = e.e.inputs;
  op.stack = stack_of(e.e.stack, e.e.start_ns);
  op.kind = kind;
  add_op(op);
}

void StoryPart::add_op(const StoryOp& op) {
  while (!story_.ops.empty() && covers(op, story_.ops.back())) story_.ops.pop_back();
  story_.ops.push_back(op);
}

void StoryPart::on(const exporter::ShownCall& e) {
  if (!on_step_thread(e.e.tid) || e.inner) return;
  if (e.e.api != model::kApiWait && !is_waiting_call(e.name)) return;
  waits_.push_back({e.e.start_ns, e.e.end_ns, name_of(e.name),
                    e.owner == 0 ? stack_of(e.e.stack, e.e.start_ns) : 0});
}

void StoryPart::on(const exporter::ShownSample& e) {
  StorySample sample{e.e.ts_ns, e.e.weight_ns, 0, e.e.state != 0, false, e.e.tid};
  if (on_step_thread(e.e.tid)) {
    if (story_.samples.size() >= kMaxSamples) return;
    sample.stack = stack_of(e.frames);
    sample.wants_lock =
        sample.blocked && (waits_in_interpreter(e.frames) ||
                           std::any_of(e.frames.begin(), e.frames.end(),
                                       [this](auto frame) { return wants_lock(frame); }));
    story_.samples.push_back(sample);
    return;
  }
  // Who sleeps may have the lock in its hands.
  if (story_.others.size() >= kMaxOthers || !is_long(e.e.ts_ns)) return;
  sample.stack = stack_of(e.frames);
  if (sample.stack != 0) story_.others.push_back(sample);
}

/// Whether a frame of a waiting thread is where CPython waits for the GIL.
bool StoryPart::wants_lock(exporter::StackText::Frame frame) {
  const auto [at, unseen] = locks_.try_emplace(frame, false);
  if (!unseen) return at->second;
  if (shown_->stacks().place(frame).kind == symbols::FrameKind::kPython) return false;
  const std::string_view name = shown_->stacks().name(frame);
  return at->second = name.find("take_gil") != std::string_view::npos ||
                      name.find("PyEval_RestoreThread") != std::string_view::npos ||
                      name.find("PyEval_AcquireThread") != std::string_view::npos;
}

/// Whether the interpreter itself, whose own frames are not shown as a rule, waits for a condition:
/// that is how it waits for the GIL, and for nothing else (its locks are semaphores).
bool StoryPart::waits_in_interpreter(std::span<const exporter::StackText::Frame> frames) {
  exporter::StackText& stacks = shown_->stacks();
  bool waits = false;
  for (const exporter::StackText::Frame frame : frames) {
    if (stacks.place(frame).kind == symbols::FrameKind::kPython) return waits;
    const std::string_view name = stacks.name(frame);
    waits = name.ends_with("!pthread_cond_timedwait");
    if (!waits && name.find("!__futex_abstimed_wait") == std::string_view::npos) return false;
  }
  return false;
}

/// Stretches of a window in which other threads may be what the stepping one waits for.
void StoryPart::find_long(const std::vector<model::Step>& steps) {
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

bool StoryPart::is_long(std::uint64_t ts_ns) {
  const auto after =
      std::upper_bound(long_.begin(), long_.end(), std::pair{ts_ns, ~std::uint64_t{0}});
  return after != long_.begin() && ts_ns < std::prev(after)->second;
}

void StoryPart::on(const exporter::ShownOverhead& e) {
  story_.overheads.push_back({e.e.start_ns, e.e.end_ns, name_of(e.name)});
}

void StoryPart::on(const model::Allocation& e) {
  if (on_step_thread(e.tid)) story_.blocks.push_back({e.start_ns, e.address, e.bytes});
}

std::uint32_t StoryPart::name_of(std::string_view name) {
  const auto [found, added] =
      names_.try_emplace(std::string(name), static_cast<std::uint32_t>(story_.names.size()));
  if (added) story_.names.emplace_back(name);
  return found->second;
}

FrameId StoryPart::frame_of(exporter::StackText::Frame frame) {
  const auto [at, unseen] = seen_.try_emplace(frame, 0);
  if (!unseen) return at->second;
  const symbols::DisplayFrame& place = shown_->stacks().place(frame);
  if (place.kind != symbols::FrameKind::kPython) return 0;
  const std::string text(shown_->stacks().name(frame));
  const auto [found, added] =
      frames_.try_emplace(text, static_cast<FrameId>(story_.places.frames.size()));
  if (added) {
    story_.places.frames.push_back(
        {text, place.name, place.file, place.line, true, is_user_file(place.file)});
  }
  return at->second = found->second;
}

std::uint32_t StoryPart::stack_of(std::span<const exporter::StackText::Frame> frames) {
  std::vector<FrameId> kept;
  for (const exporter::StackText::Frame frame : frames) {
    const FrameId id = frame_of(frame);
    if (id != 0) kept.push_back(id);
  }
  if (kept.size() > kInnermost + kOutermost)
    kept.erase(kept.begin() + kInnermost, kept.end() - kOutermost);
  if (kept.empty()) return 0;
  std::string key(reinterpret_cast<const char*>(kept.data()), kept.size() * sizeof(FrameId));
  const auto [found, added] =
      stacks_.try_emplace(std::move(key), static_cast<std::uint32_t>(story_.places.stacks.size()));
  if (added) story_.places.stacks.push_back(std::move(kept));
  return found->second;
}

std::uint32_t StoryPart::stack_of(model::StackId stack, std::uint64_t ts_ns) {
  if (stack == 0) return 0;
  const auto known = stack_ids_.find(stack);
  if (known != stack_ids_.end()) return known->second;
  const std::vector<exporter::StackText::Frame>& frames = shown_->stacks().frames(stack, ts_ns);
  return stack_ids_[stack] = stack_of(std::span(frames.data(), frames.size()));
}

void StoryPart::sort_steps() {
  auto& steps = story_.steps;
  std::sort(steps.begin(), steps.end(),
            [](const StoryStep& a, const StoryStep& b) { return a.start_ns < b.start_ns; });
  if (!steps.empty() || story_.ops.empty() || wanted_) return;
  story_.made_up = true;
  steps.push_back({std::min(first_ns_, story_.ops.front().start_ns),
                   std::max(last_ns_, story_.ops.back().end_ns), 0});
}

void StoryPart::keep_outermost() {
  auto& ops = story_.ops;
  std::sort(ops.begin(), ops.end(), [](const StoryOp& a, const StoryOp& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::size_t kept = 0;
  std::uint64_t reached_ns = 0;
  for (const StoryOp& op : ops) {
    if (op.start_ns < reached_ns) continue;
    reached_ns = op.end_ns;
    ops[kept++] = op;
  }
  ops.resize(kept);
}

/// Each wait to the operator it lies in; the others stay waits of their own.
void StoryPart::join_waits() {
  std::sort(waits_.begin(), waits_.end(),
            [](const StoryWait& a, const StoryWait& b) { return a.start_ns < b.start_ns; });
  std::size_t at = 0;
  for (const StoryWait& wait : waits_) {
    while (at < story_.ops.size() && story_.ops[at].end_ns <= wait.start_ns) ++at;
    if (at == story_.ops.size() || story_.ops[at].start_ns > wait.start_ns) {
      story_.waits.push_back(wait);
      continue;
    }
    story_.ops[at].wait_ns += wait.end_ns - wait.start_ns;
    ++story_.ops[at].wait_ops;
  }
  waits_.clear();
}

void StoryPart::merge_talks() {
  auto& talks = story_.talks;
  std::sort(talks.begin(), talks.end(),
            [](const StoryTalk& a, const StoryTalk& b) { return a.start_ns < b.start_ns; });
  std::size_t kept = 0;
  for (const StoryTalk& talk : talks) {
    if (kept != 0 && talk.start_ns <= talks[kept - 1].end_ns)
      talks[kept - 1].end_ns = std::max(talks[kept - 1].end_ns, talk.end_ns);
    else
      talks[kept++] = talk;
  }
  talks.resize(kept);
}

Story StoryPart::finish(std::size_t warm_up) {
  keep_outermost();
  join_waits();
  merge_talks();
  sort_steps();
  const auto apart =
      story_.steps.begin() + static_cast<std::ptrdiff_t>(std::min(warm_up, story_.steps.size()));
  story_.warm_up.assign(story_.steps.begin(), apart);
  story_.steps.erase(story_.steps.begin(), apart);
  const auto by_time = [](const auto& a, const auto& b) { return a.ts_ns < b.ts_ns; };
  std::stable_sort(story_.samples.begin(), story_.samples.end(), by_time);
  std::stable_sort(story_.others.begin(), story_.others.end(), by_time);
  std::stable_sort(story_.blocks.begin(), story_.blocks.end(), by_time);
  std::sort(story_.backward.begin(), story_.backward.end(),
            [](const StoryNode& a, const StoryNode& b) { return a.start_ns < b.start_ns; });
  shown_ = nullptr;
  return std::move(story_);
}

}  // namespace gpuprof::report::advice
