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

#include "analysis/messages/advice_steps.hpp"
#include "analysis/messages/report_shared.hpp"
#include "analysis/messages/wall_time.hpp"
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
  if (step_thread.samples.empty() ||
      reported.line_source == messages::report_shared::kLineBySourceCode)
    return true;
  // No usual step does these: however busy the machine was, that is why.
  if (reported.kind == HostActivityKind::kSaving || reported.kind == HostActivityKind::kEvaluation)
    return true;
  const bool sleeps =
      reported.kind == HostActivityKind::kWaiting || reported.kind == HostActivityKind::kGilWait;
  return reported.sampled_share >= (sleeps ? kSampledWaiting : kSampledRunning);
}

std::string activity_name(const HostActivity& reported) {
  return reported.what.empty() ? std::string()
                               : fmt::format(messages::advice_steps::kWhat, reported.what);
}

/// What happens meanwhile, for the middle of a sentence.
std::string activity_message(const HostActivity& reported) {
  switch (reported.kind) {
    case HostActivityKind::kSaving:
      return messages::advice_steps::kSaves + activity_name(reported);
    case HostActivityKind::kEvaluation:
      return messages::advice_steps::kEvaluates + activity_name(reported);
    case HostActivityKind::kLoading:
      return messages::advice_steps::kLoads + activity_name(reported);
    case HostActivityKind::kWaiting:
      return messages::advice_steps::kWaits + activity_name(reported);
    case HostActivityKind::kGilWait:
      return messages::advice_steps::kWaitsForGil;
    case HostActivityKind::kImport:
      return messages::advice_steps::kImports;
    case HostActivityKind::kCompile:
      return messages::advice_steps::kCompiles + activity_name(reported);
    case HostActivityKind::kCudaInit:
      return messages::advice_steps::kInitialisesCuda;
    case HostActivityKind::kGpuWait:
      return messages::advice_steps::kWaitsForGpu + activity_name(reported);
    case HostActivityKind::kOperators:
      return fmt::format(messages::advice_steps::kRunsOperators, reported.what);
    default:
      return messages::advice_steps::kRunsOwnCode + activity_name(reported);
  }
}

std::string_view suggestion_for(HostActivityKind doing) {
  switch (doing) {
    case HostActivityKind::kSaving:
      return messages::advice_steps::kTrySaving;
    case HostActivityKind::kEvaluation:
      return messages::advice_steps::kTryEvaluating;
    case HostActivityKind::kLoading:
      return messages::advice_steps::kTryLoading;
    case HostActivityKind::kGilWait:
      return messages::advice_steps::kTryOtherProcess;
    case HostActivityKind::kWaiting:
      return messages::advice_steps::kTryNoWait;
    case HostActivityKind::kCompile:
      return messages::advice_steps::kTrySameShapes;
    case HostActivityKind::kImport:
      return messages::advice_steps::kTryImporting;
    default:
      return messages::advice_steps::kTryLess;
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

/// A text that lasts as long as the program: advice holds a view.
std::string_view line_by_of(const HostActivity& reported) {
  constexpr std::array<std::string_view, 4> kSources = {
      messages::report_shared::kLineBySamples, messages::report_shared::kLineBySourceCode,
      messages::report_shared::kLineByNeighbours, messages::report_shared::kLineByOtherThread};
  const auto found = std::find(kSources.begin(), kSources.end(), reported.line_source);
  return found == kSources.end() ? std::string_view() : *found;
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

/// "after steps 20, 40".
std::string after_text(const SlowSpot& stretch) {
  const std::string numbers = step_numbers(stretch);
  return stretch.count == 1 ? fmt::format(messages::wall_time::kAfterStep, numbers)
                            : fmt::format(messages::wall_time::kAfterSteps, numbers);
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
    advice.finding =
        fmt::format(messages::advice_steps::kStalls, stretch.count, step_thread.steps.size(),
                    step_numbers(stretch), activity_message(reported),
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
    advice.share_base = messages::report_shared::kShareOfAllSteps;
    advice.finding =
        fmt::format(messages::advice_steps::kBetween,
                    format_times(static_cast<double>(stretch.count)), after_text(stretch),
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
