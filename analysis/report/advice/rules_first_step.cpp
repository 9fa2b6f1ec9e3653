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

#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/host_patterns.hpp"
#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice {
namespace {

constexpr double kTimesLonger = 5;  // than the median of the others
constexpr double kOfAll = 0.1;      // of all steps that were recorded
constexpr double kExplained = 0.3;  // of the first step, by what compiles or loads
constexpr std::size_t kFewestSteps = 4;
constexpr std::uint64_t kFewestSamples = 3;

bool compiles(const Story& story, std::uint32_t stack) {
  constexpr std::array<std::string_view, 5> kFolders = {"torch/_dynamo", "torch/_inductor",
                                                        "torch/_functorch", "triton/",
                                                        "torch/utils/cpp_extension"};
  const auto& frames = story.places.stacks[stack];
  return std::any_of(frames.begin(), frames.end(), [&](FrameId id) {
    const std::string& file = story.places.frames[id].file;
    return std::any_of(kFolders.begin(), kFolders.end(), [&](std::string_view folder) {
      return file.find(folder) != std::string::npos;
    });
  });
}

struct Cause {
  double ns = 0;
  std::string_view what;
  FrameId line = 0;
  std::uint64_t samples = 0;
};

/// Compilers of PyTorch, seen by samples of the thread.
Cause compiling(const Story& story, const StoryStep& first) {
  Cause cause{0, "compiling (torch.compile)", 0, 0};
  std::uint64_t all = 0;
  std::map<FrameId, std::uint64_t> lines;
  for (const StorySample& sample : story.samples) {
    if (sample.ts_ns < first.start_ns || sample.ts_ns >= first.end_ns) continue;
    ++all;
    if (!compiles(story, sample.stack)) continue;
    ++cause.samples;
    if (const FrameId line = story.places.user_frame(sample.stack); line != 0) ++lines[line];
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
Cause loading(const Story& story, const StoryStep& first) {
  Cause cause{0, "loading device code (lazy loading)", 0, kFewestSamples};
  for (const StoryOverhead& overhead : story.overheads) {
    const bool inside = overhead.start_ns >= first.start_ns && overhead.start_ns < first.end_ns;
    const std::string& name = story.names[overhead.name];
    const bool lazy =
        name.find("azy") != std::string::npos || name.find("LAZY") != std::string::npos;
    if (inside && lazy) cause.ns += static_cast<double>(overhead.end_ns - overhead.start_ns);
  }
  return cause;
}

/// Why the first step takes so much longer than the others, where that is known.
struct Special {
  Cause cause;
  double length_ns = 0, usual_ns = 0;  // of the others, their median
};

std::optional<Special> special(const Story& story) {
  if (story.made_up || story.warm_up.empty() || story.steps.size() + 1 < kFewestSteps)
    return std::nullopt;
  const StoryStep& first = story.warm_up.front();
  std::vector<std::uint64_t> others;
  for (const StoryStep& step : story.steps) others.push_back(step.length_ns());
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  const double usual = static_cast<double>(*middle),
               length = static_cast<double>(first.length_ns());
  double all = static_cast<double>(story.steps_ns());
  for (const StoryStep& step : story.warm_up) all += static_cast<double>(step.length_ns());
  if (length < kTimesLonger * usual || length < kOfAll * all) return std::nullopt;
  const Cause compiled = compiling(story, first), loaded = loading(story, first);
  const Cause& cause = compiled.ns >= loaded.ns ? compiled : loaded;
  if (cause.ns < kExplained * length || cause.samples < kFewestSamples) return std::nullopt;
  return Special{cause, length, usual};
}

}  // namespace

void first_step(const Subject& subject, Found* found) {
  const Story& story = subject.story;
  const std::optional<Special> step = special(story);
  if (!step) return;
  const auto& [cause, length, usual] = *step;
  Where where = cause.line != 0 ? where_of(story, cause.line) : loop_of(subject);
  Advice advice = start_advice(subject, kFirstStep, where, length - usual);
  advice.share = cause.ns / length;
  advice.of = "first step";
  advice.ns_per_step = cause.ns;
  advice.what = fmt::format(
      "The first step takes {}, {} times as long as the others: {} of it is {}. The figures of "
      "steps and all other advice leave it out.",
      time_text(length), count_text(length / usual), time_text(cause.ns), cause.what);
  advice.change =
      "To make it shorter keep the compiler's cache (TORCHINDUCTOR_CACHE_DIR) and shapes that do "
      "not change; --wait 1 or --skip-first 1 records without it.";
  advice.figures = {{"first_step_ns", length}, {"median_step_ns", usual}, {"cause_ns", cause.ns}};
  found->push_back(std::move(advice));
}

}  // namespace gpuprof::report::advice
