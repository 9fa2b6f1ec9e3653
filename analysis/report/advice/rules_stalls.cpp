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

/// Whether what is known of a stretch is more than where the thread happened to be.
bool is_known(const StepThread& step_thread, const HostActivity& reported) {
  if (reported.kind == HostActivityKind::kUnknown || reported.file.empty()) return false;
  if (step_thread.samples.empty() || reported.line_source == "the program's text") return true;
  // No usual step does these: however busy the machine was, that is why.
  if (reported.kind == HostActivityKind::kSaving || reported.kind == HostActivityKind::kEvaluation)
    return true;
  const bool sleeps =
      reported.kind == HostActivityKind::kWaiting || reported.kind == HostActivityKind::kGilWait;
  return reported.sampled_share >= (sleeps ? kSampledWaiting : kSampledRunning);
}

std::string activity_name(const HostActivity& reported) {
  return reported.what.empty() ? std::string() : fmt::format(" ({})", reported.what);
}

/// What goes on meanwhile: half a sentence.
std::string activity_message(const HostActivity& reported) {
  switch (reported.kind) {
    case HostActivityKind::kSaving:
      return "something is saved" + activity_name(reported);
    case HostActivityKind::kEvaluation:
      return "an evaluation runs" + activity_name(reported);
    case HostActivityKind::kLoading:
      return "data are loaded" + activity_name(reported);
    case HostActivityKind::kWaiting:
      return "the thread waits" + activity_name(reported);
    case HostActivityKind::kGilWait:
      return "the thread waits for Python's lock (GIL), while another thread runs this line";
    case HostActivityKind::kImport:
      return "modules are imported";
    case HostActivityKind::kCompile:
      return "code is compiled" + activity_name(reported);
    case HostActivityKind::kCudaInit:
      return "CUDA is initialised";
    case HostActivityKind::kGpuWait:
      return "the thread waits for the GPU" + activity_name(reported);
    case HostActivityKind::kOperators:
      return "operators run, most of that time " + reported.what;
    default:
      return "the program's own code runs" + activity_name(reported);
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
std::string_view line_by_of(const HostActivity& reported) {
  constexpr std::array<std::string_view, 4> kWords = {
      "samples", "the program's text", "operators around it", "samples of another thread"};
  const auto found = std::find(kWords.begin(), kWords.end(), reported.line_source);
  return found == kWords.end() ? std::string_view() : *found;
}

SourceLocation where_of(const HostActivity& reported) {
  return {reported.file, reported.function, reported.line, reported.last_line};
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
  const StepThread& step_thread = subject.step_thread;
  const WallTime& wall = subject.analysis.wall;
  const auto steps_ns = static_cast<double>(step_thread.total_step_ns());
  if (step_thread.is_synthetic || step_thread.steps.empty()) return;
  for (const SlowSpot& stretch : wall.slow_spots) {
    const HostActivity& reported = stretch.activity;
    if (stretch.part != WallPhase::kSteps || reported.kind == HostActivityKind::kGpuWait) continue;
    if (static_cast<double>(reported.ns) < kStallShare * steps_ns ||
        !is_known(step_thread, reported))
      continue;
    Advice advice =
        make_advice(subject, kStepStalls, where_of(reported), static_cast<double>(reported.ns));
    advice.finding = fmt::format(
        "In {} of {} steps ({}) {}: {} in all, {} the longest. A usual step takes {}, and the "
        "median does not show it.",
        stretch.count, step_thread.steps.size(), step_numbers(stretch), activity_message(reported),
        format_time(static_cast<double>(reported.ns)),
        format_time(static_cast<double>(stretch.longest_ns)),
        format_time(static_cast<double>(wall.usual_step_ns)));
    advice.suggestion = suggestion_for(reported.kind);
    add_figures(stretch, &advice);
    advice.figures.push_back({"median_step_ns", static_cast<double>(wall.usual_step_ns)});
    advice.line_source = line_by_of(reported);
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
  if (between_ns == 0 || subject.step_thread.is_synthetic) return;
  for (const SlowSpot& stretch : wall.slow_spots) {
    const HostActivity& reported = stretch.activity;
    if (stretch.part != WallPhase::kBetween || reported.ns < kBetweenNs) continue;
    if (static_cast<double>(reported.ns) < kPausesShare * static_cast<double>(all_ns)) continue;
    if (reported.kind == HostActivityKind::kUnknown || reported.file.empty()) continue;
    Advice advice =
        make_advice(subject, kBetweenSteps, where_of(reported), static_cast<double>(reported.ns));
    advice.share = static_cast<double>(reported.ns) / static_cast<double>(all_ns);
    advice.share_base = "time from the first to the last step";
    advice.finding = fmt::format(
        "Between steps, {} time{} (after step {}), {}: {} in all, {} the longest. It is in no "
        "step.",
        stretch.count, stretch.count == 1 ? "" : "s", step_numbers(stretch),
        activity_message(reported), format_time(static_cast<double>(reported.ns)),
        format_time(static_cast<double>(stretch.longest_ns)));
    advice.suggestion = suggestion_for(reported.kind);
    add_figures(stretch, &advice);
    advice.figures.push_back({"between_steps_ns", static_cast<double>(between_ns)});
    advice.line_source = line_by_of(reported);
    found->push_back(std::move(advice));
  }
}

}  // namespace gpuprof::report::advice
