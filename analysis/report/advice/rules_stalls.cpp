// SPDX-License-Identifier: Apache-2.0
//
// Time that is in no mean: single steps that take long, and what lies between steps.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice {
namespace {

constexpr double kStallShare = 0.01;   // of all steps that count
constexpr double kPausesShare = 0.02;  // of the time from the first to the last step
constexpr std::uint64_t kBetweenNs = 20'000'000;
/// By samples: a thread that lost its processor leaves none.
constexpr double kSampledWaiting = 0.25, kSampledRunning = 0.5;

/// Whether what is told of a stretch is more than where it happened to be.
bool is_known(const StepThread& story, const HostActivity& told) {
  if (told.kind == HostActivityKind::kUnknown || told.file.empty()) return false;
  if (story.samples.empty() || told.line_source == "the program's text") return true;
  // No usual step does these: however busy the machine was, that is why.
  if (told.kind == HostActivityKind::kSaving || told.kind == HostActivityKind::kEvaluation)
    return true;
  const bool sleeps =
      told.kind == HostActivityKind::kWaiting || told.kind == HostActivityKind::kGilWait;
  return told.sampled_share >= (sleeps ? kSampledWaiting : kSampledRunning);
}

std::string activity_name(const HostActivity& told) {
  return told.what.empty() ? std::string() : fmt::format(" ({})", told.what);
}

/// What goes on meanwhile: half a sentence.
std::string activity_sentence(const HostActivity& told) {
  switch (told.kind) {
    case HostActivityKind::kSaving:
      return "something is saved" + activity_name(told);
    case HostActivityKind::kEvaluation:
      return "an evaluation runs" + activity_name(told);
    case HostActivityKind::kLoading:
      return "data are loaded" + activity_name(told);
    case HostActivityKind::kWaiting:
      return "the thread waits" + activity_name(told);
    case HostActivityKind::kGilWait:
      return "the thread waits for Python's lock (GIL), while another thread runs this line";
    case HostActivityKind::kImport:
      return "modules are imported";
    case HostActivityKind::kCompile:
      return "code is compiled" + activity_name(told);
    case HostActivityKind::kCudaInit:
      return "CUDA is initialised";
    case HostActivityKind::kGpuWait:
      return "the thread waits for the GPU" + activity_name(told);
    case HostActivityKind::kOperators:
      return "operators run, most of that time " + told.what;
    default:
      return "the program's own code runs" + activity_name(told);
  }
}

std::string_view suggestion_for(HostActivityKind doing) {
  switch (doing) {
    case HostActivityKind::kSaving:
      return "Save less often, only on one rank, or in the background "
             "(torch.distributed.checkpoint.async_save, a thread that writes a copy).";
    case HostActivityKind::kEvaluation:
      return "Evaluate less often or on fewer batches, under torch.inference_mode() and with a "
             "larger batch, or in a process of its own.";
    case HostActivityKind::kLoading:
      return "DataLoader(..., num_workers=N, persistent_workers=True), so that workers live on "
             "between epochs and load ahead.";
    case HostActivityKind::kGilWait:
      return "Do this work in another process, or in code that releases the lock; shorter pieces "
             "let the training go on in between.";
    case HostActivityKind::kWaiting:
      return "Do not wait in the loop: take the call out, do it less often, or leave it to another "
             "thread.";
    case HostActivityKind::kCompile:
      return "Keep shapes the same (padding, drop_last=True), or mark what changes as dynamic, so "
             "that nothing is compiled again.";
    case HostActivityKind::kImport:
      return "Import at the begin of the program.";
    default:
      return "Do this less often, in another thread or process, or make it shorter.";
  }
}

void add_figures(const SlowSpot& stretch, Advice* advice) {
  advice->figures.push_back({"times", static_cast<double>(stretch.count)});
  advice->figures.push_back({"total_ns", static_cast<double>(stretch.activity.ns)});
  advice->figures.push_back({"longest_ns", static_cast<double>(stretch.longest_ns)});
  for (std::size_t i = 0; i < stretch.labels.size(); ++i)
    advice->figures.push_back(
        {fmt::format("step_{}", i + 1), static_cast<double>(stretch.labels[i])});
}

/// Words that last as long as the program: advice holds a view.
std::string_view line_by_of(const HostActivity& told) {
  constexpr std::array<std::string_view, 4> kWords = {
      "samples", "the program's text", "operators around it", "samples of another thread"};
  const auto found = std::find(kWords.begin(), kWords.end(), told.line_source);
  return found == kWords.end() ? std::string_view() : *found;
}

SourceLocation where_of(const HostActivity& told) {
  return {told.file, told.function, told.line, told.last_line};
}

std::string step_numbers(const SlowSpot& stretch) {
  std::string text;
  for (const std::uint64_t label : stretch.labels)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", label);
  if (stretch.count > stretch.labels.size()) text += ", ...";
  return text;
}

}  // namespace

void step_stalls(const RuleInput& subject, AdviceList* found) {
  const StepThread& story = subject.story;
  const WallTime& wall = subject.analysis.wall;
  const auto steps_ns = static_cast<double>(story.total_step_ns());
  if (story.is_synthetic || story.steps.empty()) return;
  for (const SlowSpot& stretch : wall.slow_spots) {
    const HostActivity& told = stretch.activity;
    if (stretch.part != WallPhase::kSteps || told.kind == HostActivityKind::kGpuWait) continue;
    if (static_cast<double>(told.ns) < kStallShare * steps_ns || !is_known(story, told)) continue;
    Advice advice = make_advice(subject, kStepStalls, where_of(told), static_cast<double>(told.ns));
    advice.finding = fmt::format(
        "In {} of {} steps ({}) {}: {} in all, {} the longest. A usual step takes {}, and the "
        "median does not show it.",
        stretch.count, story.steps.size(), step_numbers(stretch), activity_sentence(told),
        format_time(static_cast<double>(told.ns)),
        format_time(static_cast<double>(stretch.longest_ns)),
        format_time(static_cast<double>(wall.usual_step_ns)));
    advice.suggestion = suggestion_for(told.kind);
    add_figures(stretch, &advice);
    advice.figures.push_back({"median_step_ns", static_cast<double>(wall.usual_step_ns)});
    advice.line_source = line_by_of(told);
    found->push_back(std::move(advice));
  }
}

void between_steps(const RuleInput& subject, AdviceList* found) {
  const WallTime& wall = subject.analysis.wall;
  std::uint64_t all_ns = 0, between_ns = 0;
  for (const WallTimeRow& row : wall.rows) {
    if (row.part == WallPhase::kSteps || row.part == WallPhase::kTruncated) all_ns += row.ns;
    if (row.part == WallPhase::kBetween) between_ns = row.ns;
  }
  all_ns += between_ns;
  if (between_ns == 0 || subject.story.is_synthetic) return;
  for (const SlowSpot& stretch : wall.slow_spots) {
    const HostActivity& told = stretch.activity;
    if (stretch.part != WallPhase::kBetween || told.ns < kBetweenNs) continue;
    if (static_cast<double>(told.ns) < kPausesShare * static_cast<double>(all_ns)) continue;
    if (told.kind == HostActivityKind::kUnknown || told.file.empty()) continue;
    Advice advice =
        make_advice(subject, kBetweenSteps, where_of(told), static_cast<double>(told.ns));
    advice.share = static_cast<double>(told.ns) / static_cast<double>(all_ns);
    advice.share_base = "time from the first to the last step";
    advice.finding = fmt::format(
        "Between steps, {} time{} (after step {}), {}: {} in all, {} the longest. It is in no "
        "step.",
        stretch.count, stretch.count == 1 ? "" : "s", step_numbers(stretch),
        activity_sentence(told), format_time(static_cast<double>(told.ns)),
        format_time(static_cast<double>(stretch.longest_ns)));
    advice.suggestion = suggestion_for(told.kind);
    add_figures(stretch, &advice);
    advice.figures.push_back({"between_steps_ns", static_cast<double>(between_ns)});
    advice.line_source = line_by_of(told);
    found->push_back(std::move(advice));
  }
}

}  // namespace gpuprof::report::advice
