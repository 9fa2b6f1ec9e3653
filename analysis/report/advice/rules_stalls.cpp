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
bool is_known(const Story& story, const Told& told) {
  if (told.doing == Doing::kUnseen || told.file.empty()) return false;
  if (story.samples.empty() || told.line_by == "the program's text") return true;
  // No usual step does these: however busy the machine was, that is why.
  if (told.doing == Doing::kSaving || told.doing == Doing::kEvaluation) return true;
  const bool sleeps = told.doing == Doing::kWaiting || told.doing == Doing::kLock;
  return told.sampled >= (sleeps ? kSampledWaiting : kSampledRunning);
}

std::string named(const Told& told) {
  return told.what.empty() ? std::string() : fmt::format(" ({})", told.what);
}

/// What goes on meanwhile: half a sentence.
std::string happens(const Told& told) {
  switch (told.doing) {
    case Doing::kSaving:
      return "something is saved" + named(told);
    case Doing::kEvaluation:
      return "an evaluation runs" + named(told);
    case Doing::kLoading:
      return "data are loaded" + named(told);
    case Doing::kWaiting:
      return "the thread waits" + named(told);
    case Doing::kLock:
      return "the thread waits for Python's lock (GIL), while another thread runs this line";
    case Doing::kImport:
      return "modules are imported";
    case Doing::kCompile:
      return "code is compiled" + named(told);
    case Doing::kCudaInit:
      return "CUDA is initialised";
    case Doing::kGpuWait:
      return "the thread waits for the GPU" + named(told);
    case Doing::kOperators:
      return "operators run, most of that time " + told.what;
    default:
      return "the program's own code runs" + named(told);
  }
}

std::string_view change_for(Doing doing) {
  switch (doing) {
    case Doing::kSaving:
      return "Save less often, only on one rank, or in the background "
             "(torch.distributed.checkpoint.async_save, a thread that writes a copy).";
    case Doing::kEvaluation:
      return "Evaluate less often or on fewer batches, under torch.inference_mode() and with a "
             "larger batch, or in a process of its own.";
    case Doing::kLoading:
      return "DataLoader(..., num_workers=N, persistent_workers=True), so that workers live on "
             "between epochs and load ahead.";
    case Doing::kLock:
      return "Do this work in another process, or in code that releases the lock; shorter pieces "
             "let the training go on in between.";
    case Doing::kWaiting:
      return "Do not wait in the loop: take the call out, do it less often, or leave it to another "
             "thread.";
    case Doing::kCompile:
      return "Keep shapes the same (padding, drop_last=True), or mark what changes as dynamic, so "
             "that nothing is compiled again.";
    case Doing::kImport:
      return "Import at the begin of the program.";
    default:
      return "Do this less often, in another thread or process, or make it shorter.";
  }
}

void add_figures(const Stretch& stretch, Advice* advice) {
  advice->figures.push_back({"times", static_cast<double>(stretch.count)});
  advice->figures.push_back({"total_ns", static_cast<double>(stretch.told.ns)});
  advice->figures.push_back({"longest_ns", static_cast<double>(stretch.longest_ns)});
  for (std::size_t i = 0; i < stretch.labels.size(); ++i)
    advice->figures.push_back(
        {fmt::format("step_{}", i + 1), static_cast<double>(stretch.labels[i])});
}

/// Words that last as long as the program: advice holds a view.
std::string_view line_by_of(const Told& told) {
  constexpr std::array<std::string_view, 4> kWords = {
      "samples", "the program's text", "operators around it", "samples of another thread"};
  const auto found = std::find(kWords.begin(), kWords.end(), told.line_by);
  return found == kWords.end() ? std::string_view() : *found;
}

Where where_of(const Told& told) { return {told.file, told.function, told.line, told.last_line}; }

std::string numbers(const Stretch& stretch) {
  std::string text;
  for (const std::uint64_t label : stretch.labels)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", label);
  if (stretch.count > stretch.labels.size()) text += ", ...";
  return text;
}

}  // namespace

void step_stalls(const Subject& subject, Found* found) {
  const Story& story = subject.story;
  const Wall& wall = subject.analysis.wall;
  const auto steps_ns = static_cast<double>(story.steps_ns());
  if (story.made_up || story.steps.empty()) return;
  for (const Stretch& stretch : wall.stretches) {
    const Told& told = stretch.told;
    if (stretch.part != WallPart::kSteps || told.doing == Doing::kGpuWait) continue;
    if (static_cast<double>(told.ns) < kStallShare * steps_ns || !is_known(story, told)) continue;
    Advice advice =
        start_advice(subject, kStepStalls, where_of(told), static_cast<double>(told.ns));
    advice.what = fmt::format(
        "In {} of {} steps ({}) {}: {} in all, {} the longest. A usual step takes {}, and the "
        "median does not show it.",
        stretch.count, story.steps.size(), numbers(stretch), happens(told),
        time_text(static_cast<double>(told.ns)), time_text(static_cast<double>(stretch.longest_ns)),
        time_text(static_cast<double>(wall.usual_step_ns)));
    advice.change = change_for(told.doing);
    add_figures(stretch, &advice);
    advice.figures.push_back({"median_step_ns", static_cast<double>(wall.usual_step_ns)});
    advice.line_by = line_by_of(told);
    found->push_back(std::move(advice));
  }
}

void between_steps(const Subject& subject, Found* found) {
  const Wall& wall = subject.analysis.wall;
  std::uint64_t all_ns = 0, between_ns = 0;
  for (const WallRow& row : wall.rows) {
    if (row.part == WallPart::kSteps || row.part == WallPart::kTorn) all_ns += row.ns;
    if (row.part == WallPart::kBetween) between_ns = row.ns;
  }
  all_ns += between_ns;
  if (between_ns == 0 || subject.story.made_up) return;
  for (const Stretch& stretch : wall.stretches) {
    const Told& told = stretch.told;
    if (stretch.part != WallPart::kBetween || told.ns < kBetweenNs) continue;
    if (static_cast<double>(told.ns) < kPausesShare * static_cast<double>(all_ns)) continue;
    if (told.doing == Doing::kUnseen || told.file.empty()) continue;
    Advice advice =
        start_advice(subject, kBetweenSteps, where_of(told), static_cast<double>(told.ns));
    advice.share = static_cast<double>(told.ns) / static_cast<double>(all_ns);
    advice.of = "time from the first to the last step";
    advice.what = fmt::format(
        "Between steps, {} time{} (after step {}), {}: {} in all, {} the longest. It is in no "
        "step.",
        stretch.count, stretch.count == 1 ? "" : "s", numbers(stretch), happens(told),
        time_text(static_cast<double>(told.ns)),
        time_text(static_cast<double>(stretch.longest_ns)));
    advice.change = change_for(told.doing);
    add_figures(stretch, &advice);
    advice.figures.push_back({"between_steps_ns", static_cast<double>(between_ns)});
    advice.line_by = line_by_of(told);
    found->push_back(std::move(advice));
  }
}

}  // namespace gpuprof::report::advice
