// SPDX-License-Identifier: Apache-2.0
//
// The account of a recording's time.
//
// Context:  cli
#include "analysis/report/wall_time/wall_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analysis/report/wall_time/stalls.hpp"
#include "analysis/report/wall_time/time_attribution.hpp"

namespace gpuprof::report {
namespace {

constexpr auto kParts = static_cast<std::size_t>(WallPhase::kCount);
/// Shorter pauses between two steps are added up, and not looked into.
constexpr std::uint64_t kPauseNs = 1'000'000;
/// Shorter ones are no pause: files round the borders of steps.
constexpr std::uint64_t kBoundaryNs = 1'000;
/// The longest pauses are looked into, no more of them.
constexpr std::size_t kMaxPauses = 2'000;
/// Lines of one part.
constexpr std::size_t kMaxLines = 12;

struct Span {
  std::uint64_t start_ns = 0, end_ns = 0, label = 0;
  std::uint64_t ns() const { return end_ns - start_ns; }
};

struct PhaseTotal {
  std::uint64_t ns = 0, count = 0;
  std::vector<Span> spans;  // what no step tells of
};

class PhaseTotals {
 public:
  explicit PhaseTotals(const Steps& steps) {
    for (const StepRow& step : steps.steps)
      if (!step.is_synthetic) by_window_[step.window].push_back(&step);
  }

  /// Windows that follow one another at once are one recording: what lies between their steps lies
  /// between steps.
  void add_all(std::vector<WindowMeta> windows, bool only_steps) {
    std::sort(windows.begin(), windows.end(),
              [](const WindowMeta& a, const WindowMeta& b) { return a.start_ns < b.start_ns; });
    for (std::size_t i = 0; i < windows.size();) {
      std::uint64_t end_ns = windows[i].end_ns;
      const std::size_t first = i;
      std::vector<const StepRow*> steps;
      for (; i < windows.size() && (i == first || windows[i].start_ns <= end_ns + kPauseNs); ++i) {
        const auto found = by_window_.find(windows[i].index);
        if (found != by_window_.end())
          steps.insert(steps.end(), found->second.begin(), found->second.end());
        end_ns = std::max(end_ns, windows[i].end_ns);
      }
      add(windows[first].start_ns, end_ns, steps, only_steps);
    }
  }

  PhaseTotal& of(WallPhase part) { return sums_[static_cast<std::size_t>(part)]; }

 private:
  void add(std::uint64_t start_ns, std::uint64_t end_ns, const std::vector<const StepRow*>& steps,
           bool only_steps) {
    if (steps.empty()) {
      const WallPhase part =
          by_window_.empty() ? WallPhase::kNoStepsAtAll : WallPhase::kWindowWithoutSteps;
      return span(part, start_ns, end_ns, 0);
    }
    std::uint64_t at = only_steps ? steps.front()->start_ns : start_ns;
    const StepRow* last = nullptr;
    for (const StepRow* step : steps) {
      const WallPhase before = last == nullptr ? WallPhase::kStart : WallPhase::kBetween;
      if (step->start_ns > at) span(before, at, step->start_ns, last == nullptr ? 0 : last->label);
      PhaseTotal& sum = of(step->is_counted ? WallPhase::kSteps
                           : step->warm_up  ? WallPhase::kWarmUp
                                            : WallPhase::kTruncated);
      // Steps do not overlap, unless several threads step.
      const std::uint64_t from = std::max(at, step->start_ns);
      sum.ns += std::max(from, step->end_ns) - from;
      ++sum.count;
      if (!step->is_counted) sum.spans.push_back({from, std::max(from, step->end_ns), step->label});
      at = std::max(at, step->end_ns);
      last = step;
    }
    if (!only_steps && end_ns > at) span(WallPhase::kEnd, at, end_ns, last->label);
  }

  void span(WallPhase part, std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t label) {
    if (end_ns <= start_ns) return;
    PhaseTotal& sum = of(part);
    sum.ns += end_ns - start_ns;
    if (end_ns - start_ns < kBoundaryNs) return;
    ++sum.count;
    sum.spans.push_back({start_ns, end_ns, label});
  }

  std::map<std::uint32_t, std::vector<const StepRow*>> by_window_;
  std::array<PhaseTotal, kParts> sums_;
};

/// What ran in the spans of one part, by line.
std::vector<SlowSpot> lines_of(WallPhase part, std::vector<Span> spans, TimeAttributor& explainer) {
  std::erase_if(spans, [](const Span& span) { return span.ns() < kPauseNs; });
  if (spans.size() > kMaxPauses) {
    std::nth_element(spans.begin(), spans.begin() + kMaxPauses, spans.end(),
                     [](const Span& a, const Span& b) { return a.ns() > b.ns(); });
    spans.resize(kMaxPauses);
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  LineAggregator lines(explainer, part);
  for (const Span& span : spans)
    lines.add(explainer.attribute_interval(span.start_ns, span.end_ns), span.label);
  return lines.finish(kMaxLines);
}

}  // namespace

std::string_view key_of(WallPhase part) {
  constexpr std::array<std::string_view, kParts> kKeys = {
      "whole", "start", "first_step", "steps", "torn_step", "between_steps", "end", "no_step"};
  return kKeys[static_cast<std::size_t>(part)];
}

std::string_view title_of(WallPhase part) {
  constexpr std::array<std::string_view, kParts> kTitles = {
      "No step recorded",     "Before the first step",
      "First step",           "Steps",
      "Incomplete last step", "Between steps",
      "After the last step",  "Windows without a step"};
  return kTitles[static_cast<std::size_t>(part)];
}

std::string_view label_of(HostActivityKind kind) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(HostActivityKind::kCount)>
      kWords = {"unknown",
                "importing",
                "initialising CUDA",
                "compiling",
                "saving",
                "evaluation",
                "data loading",
                "waiting for the GPU",
                "waiting for Python's lock (GIL)",
                "waiting",
                "operators",
                "the program's own code"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view key_of(HostActivityKind kind) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(HostActivityKind::kCount)> kKeys =
      {"unseen",       "import",   "cuda_init", "compile", "saving",    "evaluation",
       "data_loading", "gpu_wait", "gil",       "waiting", "operators", "code"};
  return kKeys[static_cast<std::size_t>(kind)];
}

std::string HostActivity::place() const {
  if (file.empty()) return "";
  if (last_line > line) return fmt::format("{}:{}-{}", file, line, last_line);
  return fmt::format("{}:{}", file, line);
}

std::string HostActivity::text() const {
  std::string text(label_of(kind));
  if (!what.empty()) text += fmt::format(" ({})", what);
  if (!file.empty()) text += " at " + place();
  return text;
}

WallTime compute_wall_time(const Steps& steps, const std::vector<WindowMeta>& windows,
                           const advice::StepThread& step_thread, bool only_steps) {
  PhaseTotals account(steps);
  account.add_all(windows, only_steps);
  WallTime wall;
  TimeAttributor explainer(step_thread);
  for (std::size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<WallPhase>(i);
    PhaseTotal& sum = account.of(part);
    if (sum.ns == 0 && sum.count == 0) continue;
    wall.recorded_ns += sum.ns;
    WallTimeRow& row = wall.rows.emplace_back(WallTimeRow{part, sum.ns, sum.count, {}});
    std::vector<SlowSpot> lines = lines_of(part, std::move(sum.spans), explainer);
    if (!lines.empty()) row.activity = lines.front().activity;
    std::move(lines.begin(), lines.end(), std::back_inserter(wall.slow_spots));
    if (part != WallPhase::kSteps) continue;
    std::vector<SlowSpot> stalls = find_stalls(step_thread, explainer, &wall.usual_step_ns);
    if (stalls.size() > kMaxLines) stalls.resize(kMaxLines);
    std::move(stalls.begin(), stalls.end(), std::back_inserter(wall.slow_spots));
  }
  return wall;
}

}  // namespace gpuprof::report
