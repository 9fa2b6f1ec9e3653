// SPDX-License-Identifier: Apache-2.0
//
// A first step that compiles or loads: not slow code, but time all the same.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "analysis/messages/advice_steps.hpp"
#include "analysis/messages/report_shared.hpp"
#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/host_patterns.hpp"
#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice {
namespace {

constexpr double kTimesLonger = 5;  // than the median of the others
constexpr double kOfAll = 0.1;      // of all steps that were recorded
constexpr double kExplained = 0.3;  // of the first step, by what compiles or loads
constexpr std::size_t kMinSteps = 4;
constexpr std::uint64_t kMinSamples = 3;

bool compiles(const StepThread& step_thread, std::uint32_t stack) {
  constexpr std::array<std::string_view, 5> kFolders = {"torch/_dynamo", "torch/_inductor",
                                                        "torch/_functorch", "triton/",
                                                        "torch/utils/cpp_extension"};
  const auto& frames = step_thread.places.stacks[stack];
  return std::any_of(frames.begin(), frames.end(), [&](FrameId id) {
    const std::string& file = step_thread.places.frames[id].file;
    return std::any_of(kFolders.begin(), kFolders.end(), [&](std::string_view folder) {
      return file.find(folder) != std::string::npos;
    });
  });
}

struct SlowdownCause {
  double ns = 0;
  std::string_view what;
  FrameId line = 0;
  std::uint64_t samples = 0;
};

/// Compilers of PyTorch, seen by samples of the thread.
SlowdownCause compiling(const StepThread& step_thread, const TimedStep& first) {
  SlowdownCause cause{0, messages::advice_steps::kCompilation, 0, 0};
  std::uint64_t all = 0;
  std::map<FrameId, std::uint64_t> lines;
  for (const ThreadSample& sample : step_thread.samples) {
    if (sample.ts_ns < first.start_ns || sample.ts_ns >= first.end_ns) continue;
    ++all;
    if (!compiles(step_thread, sample.stack)) continue;
    ++cause.samples;
    if (const FrameId line = step_thread.places.user_frame(sample.stack); line != 0) ++lines[line];
  }
  const auto most = std::max_element(
      lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != lines.end()) cause.line = most->first;
  if (all != 0)
    cause.ns = static_cast<double>(first.length_ns()) * static_cast<double>(cause.samples) /
               static_cast<double>(all);
  return cause;
}

/// Device code loaded at its first launch, as CUPTI told.
SlowdownCause loading(const StepThread& step_thread, const TimedStep& first) {
  SlowdownCause cause{0, messages::advice_steps::kLazyLoading, 0, kMinSamples};
  for (const CuptiOverhead& overhead : step_thread.overheads) {
    const bool inside = overhead.start_ns >= first.start_ns && overhead.start_ns < first.end_ns;
    const std::string& name = step_thread.names[overhead.name];
    const bool lazy =
        name.find("azy") != std::string::npos || name.find("LAZY") != std::string::npos;
    if (inside && lazy) cause.ns += static_cast<double>(overhead.end_ns - overhead.start_ns);
  }
  return cause;
}

/// Why the first step takes so much longer than the others, where that is known.
struct SlowFirstStep {
  SlowdownCause cause;
  double length_ns = 0, usual_ns = 0;  // of the others, their median
};

std::optional<SlowFirstStep> special(const StepThread& step_thread) {
  if (step_thread.is_synthetic || step_thread.warm_up.empty() ||
      step_thread.steps.size() + 1 < kMinSteps)
    return std::nullopt;
  const TimedStep& first = step_thread.warm_up.front();
  std::vector<std::uint64_t> others;
  for (const TimedStep& step : step_thread.steps) others.push_back(step.length_ns());
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  const double usual = static_cast<double>(*middle),
               length = static_cast<double>(first.length_ns());
  double all = static_cast<double>(step_thread.total_step_ns());
  for (const TimedStep& step : step_thread.warm_up) all += static_cast<double>(step.length_ns());
  if (length < kTimesLonger * usual || length < kOfAll * all) return std::nullopt;
  const SlowdownCause compiled = compiling(step_thread, first),
                      loaded = loading(step_thread, first);
  const SlowdownCause& cause = compiled.ns >= loaded.ns ? compiled : loaded;
  if (cause.ns < kExplained * length || cause.samples < kMinSamples) return std::nullopt;
  return SlowFirstStep{cause, length, usual};
}

}  // namespace

void first_step(const RuleInput& subject, AdviceList* found) {
  const StepThread& step_thread = subject.step_thread;
  const std::optional<SlowFirstStep> step = special(step_thread);
  if (!step) return;
  const auto& [cause, length, usual] = *step;
  SourceLocation where =
      cause.line != 0 ? location_of(step_thread, cause.line) : step_loop_location(subject);
  Advice advice = make_advice(subject, kFirstStep, where, length - usual);
  advice.share = cause.ns / length;
  advice.share_base = messages::report_shared::kShareOfFirstStep;
  advice.ns_per_step = cause.ns;
  advice.finding = fmt::format(messages::advice_steps::kFirstStep, format_time(length),
                               format_count(length / usual), cause.what, format_time(cause.ns));
  advice.suggestion = messages::advice_steps::kTryFirstStep;
  advice.figures = {{"first_step_ns", length}, {"median_step_ns", usual}, {"cause_ns", cause.ns}};
  found->push_back(std::move(advice));
}

}  // namespace gpuprof::report::advice
