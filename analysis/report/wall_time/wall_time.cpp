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

constexpr auto kParts = static_cast<std::size_t>(WallPart::kCount);
/// Shorter pauses between two steps are added up, and not looked into.
constexpr std::uint64_t kPauseNs = 1'000'000;
/// Shorter ones are no pause: files round the borders of steps.
constexpr std::uint64_t kBorderNs = 1'000;
/// The longest pauses are looked into, no more of them.
constexpr std::size_t kMostPauses = 2'000;
/// Lines of one part.
constexpr std::size_t kMostLines = 12;

struct Span {
  std::uint64_t start_ns = 0, end_ns = 0, label = 0;
  std::uint64_t ns() const { return end_ns - start_ns; }
};

struct Sum {
  std::uint64_t ns = 0, count = 0;
  std::vector<Span> spans;  // what no step tells of
};

class Account {
 public:
  explicit Account(const Steps& steps) {
    for (const StepRow& step : steps.steps)
      if (!step.made_up) by_window_[step.window].push_back(&step);
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

  Sum& of(WallPart part) { return sums_[static_cast<std::size_t>(part)]; }

 private:
  void add(std::uint64_t start_ns, std::uint64_t end_ns, const std::vector<const StepRow*>& steps,
           bool only_steps) {
    if (steps.empty()) {
      const WallPart part = by_window_.empty() ? WallPart::kWhole : WallPart::kNoStep;
      return span(part, start_ns, end_ns, 0);
    }
    std::uint64_t at = only_steps ? steps.front()->start_ns : start_ns;
    const StepRow* last = nullptr;
    for (const StepRow* step : steps) {
      const WallPart before = last == nullptr ? WallPart::kStart : WallPart::kBetween;
      if (step->start_ns > at) span(before, at, step->start_ns, last == nullptr ? 0 : last->label);
      Sum& sum = of(step->kept      ? WallPart::kSteps
                    : step->warm_up ? WallPart::kWarmUp
                                    : WallPart::kTorn);
      // Steps do not overlap, unless several threads step.
      const std::uint64_t from = std::max(at, step->start_ns);
      sum.ns += std::max(from, step->end_ns) - from;
      ++sum.count;
      if (!step->kept) sum.spans.push_back({from, std::max(from, step->end_ns), step->label});
      at = std::max(at, step->end_ns);
      last = step;
    }
    if (!only_steps && end_ns > at) span(WallPart::kEnd, at, end_ns, last->label);
  }

  void span(WallPart part, std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t label) {
    if (end_ns <= start_ns) return;
    Sum& sum = of(part);
    sum.ns += end_ns - start_ns;
    if (end_ns - start_ns < kBorderNs) return;
    ++sum.count;
    sum.spans.push_back({start_ns, end_ns, label});
  }

  std::map<std::uint32_t, std::vector<const StepRow*>> by_window_;
  std::array<Sum, kParts> sums_;
};

/// What ran in the spans of one part, by line.
std::vector<Stretch> lines_of(WallPart part, std::vector<Span> spans, Explainer& explainer) {
  std::erase_if(spans, [](const Span& span) { return span.ns() < kPauseNs; });
  if (spans.size() > kMostPauses) {
    std::nth_element(spans.begin(), spans.begin() + kMostPauses, spans.end(),
                     [](const Span& a, const Span& b) { return a.ns() > b.ns(); });
    spans.resize(kMostPauses);
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  LineSums lines(explainer, part);
  for (const Span& span : spans) lines.add(explainer.look(span.start_ns, span.end_ns), span.label);
  return lines.finish(kMostLines);
}

}  // namespace

std::string_view key_of(WallPart part) {
  constexpr std::array<std::string_view, kParts> kKeys = {
      "whole", "start", "first_step", "steps", "torn_step", "between_steps", "end", "no_step"};
  return kKeys[static_cast<std::size_t>(part)];
}

std::string_view title_of(WallPart part) {
  constexpr std::array<std::string_view, kParts> kTitles = {
      "No step recorded", "Before the first step", "First step",          "Steps",
      "Torn last step",   "Between steps",         "After the last step", "Windows without a step"};
  return kTitles[static_cast<std::size_t>(part)];
}

std::string_view words_of(Doing doing) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Doing::kCount)> kWords = {
      "not seen",
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
  return kWords[static_cast<std::size_t>(doing)];
}

std::string_view key_of(Doing doing) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Doing::kCount)> kKeys = {
      "unseen",       "import",   "cuda_init", "compile", "saving",    "evaluation",
      "data_loading", "gpu_wait", "gil",       "waiting", "operators", "code"};
  return kKeys[static_cast<std::size_t>(doing)];
}

std::string Told::place() const {
  if (file.empty()) return "";
  if (last_line > line) return fmt::format("{}:{}-{}", file, line, last_line);
  return fmt::format("{}:{}", file, line);
}

std::string Told::text() const {
  std::string text(words_of(doing));
  if (!what.empty()) text += fmt::format(" ({})", what);
  if (!file.empty()) text += " at " + place();
  return text;
}

Wall wall_of(const Steps& steps, const std::vector<WindowMeta>& windows, const advice::Story& story,
             bool only_steps) {
  Account account(steps);
  account.add_all(windows, only_steps);
  Wall wall;
  Explainer explainer(story);
  for (std::size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<WallPart>(i);
    Sum& sum = account.of(part);
    if (sum.ns == 0 && sum.count == 0) continue;
    wall.recorded_ns += sum.ns;
    WallRow& row = wall.rows.emplace_back(WallRow{part, sum.ns, sum.count, {}});
    std::vector<Stretch> lines = lines_of(part, std::move(sum.spans), explainer);
    if (!lines.empty()) row.told = lines.front().told;
    std::move(lines.begin(), lines.end(), std::back_inserter(wall.stretches));
    if (part != WallPart::kSteps) continue;
    std::vector<Stretch> stalls = stalls_of(story, explainer, &wall.usual_step_ns);
    if (stalls.size() > kMostLines) stalls.resize(kMostLines);
    std::move(stalls.begin(), stalls.end(), std::back_inserter(wall.stretches));
  }
  return wall;
}

}  // namespace gpuprof::report
