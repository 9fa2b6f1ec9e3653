// SPDX-License-Identifier: Apache-2.0
//
// Several processes: too much talk, the wrong way to be parallel, one that keeps the others
// waiting.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/messages/advice_ranks.hpp"
#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/host_patterns.hpp"
#include "analysis/report/advice/rules.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::advice {
namespace {

constexpr double kCommunicationShare = 0.1;  // the plugin's threshold, of the step
constexpr double kSlowShare = 0.05;          // of the step: what the others wait for one rank
constexpr double kLineShare = 0.3;           // of the difference, before a line is named for it

double per_step(const StepThread& step_thread, double ns) {
  return ns / static_cast<double>(std::max<std::size_t>(1, step_thread.steps.size()));
}

/// What a step takes without its collectives.
double own_ns(const StepThread& step_thread) {
  double ns = 0;
  for (const TimedStep& step : step_thread.steps)
    ns += static_cast<double>(step.length_ns() -
                              collective_ns(step_thread, step.start_ns, step.end_ns));
  return per_step(step_thread, ns);
}

using Line = std::tuple<std::string, std::string, int, int>;  // file, function, from, to
std::map<Line, double> lines_of(const StepThread& step_thread) {
  std::map<Line, double> lines;
  for (const LineTime& line : line_times(step_thread, stack_facts(step_thread)))
    lines[{line.file, line.function, line.line, line.last_line}] +=
        per_step(step_thread, static_cast<double>(line.ns));
  return lines;
}

struct Difference {
  Line line;
  double ns = 0;
};

/// The line where `slow` takes most more than the mean of the others.
Difference largest_difference(std::span<const RuleInput> others, const StepThread& slow) {
  std::map<Line, double> usual;
  for (const RuleInput& other : others) {
    if (&other.step_thread == &slow) continue;
    for (const auto& [line, ns] : lines_of(other.step_thread))
      usual[line] += ns / static_cast<double>(others.size() - 1);
  }
  Difference largest;
  for (const auto& [line, ns] : lines_of(slow)) {
    const double more = ns - usual[line];
    if (more > largest.ns) largest = {line, more};
  }
  return largest;
}

bool called(const ProcessReport& analysis, std::string_view name) {
  return std::any_of(analysis.operators.rows.begin(), analysis.operators.rows.end(),
                     [&](const OperatorRow& row) { return row.name == name; });
}

}  // namespace

void data_parallel(const RuleInput& subject, AdviceList* found) {
  if (!called(subject.analysis, "DataParallel.forward")) return;
  std::size_t used = 0;
  for (const GpuSummary& gpu : subject.analysis.steps.gpus) used += gpu.kernels != 0 ? 1 : 0;
  if (used < 2) return;
  SourceLocation where;
  double ns = 0;
  for (const CallSiteRow& site : subject.analysis.host.sites) {
    if (site.name != "DataParallel.forward") continue;
    ns += static_cast<double>(site.costs.operator_ns);
    if (where.known() || site.frame == 0) continue;
    const StackFrame& frame = subject.analysis.stack_table.frames[site.frame];
    where = {frame.file, frame.name, frame.line, frame.line};
  }
  Advice advice = make_advice(subject, kDataParallel, where, ns);
  advice.finding = fmt::format(messages::advice_ranks::kDataParallel, used);
  advice.suggestion = messages::advice_ranks::kTryDistributed;
  advice.figures = {{"devices", static_cast<double>(used)}};
  found->push_back(std::move(advice));
}

namespace {

std::string amount_of(const CollectiveRow& row) {
  if (row.known_by_kernel_only())
    return support::count_with_unit(row.device.count, "kernel", "kernels");
  return fmt::format(messages::advice_ranks::kCallsAndBytes,
                     support::count_with_unit(row.host.count, "call", "calls"),
                     format_bytes(static_cast<double>(row.bytes)));
}

std::string name_of_process(const RuleInput& subject) {
  const Meta& meta = subject.analysis.meta;
  return meta.rank >= 0 ? fmt::format(messages::advice_ranks::kRank, meta.rank)
                        : fmt::format(messages::advice_ranks::kProcess, meta.pid);
}

}  // namespace

void communication(const RuleInput& subject, AdviceList* found) {
  const Steps& steps = subject.analysis.steps;
  const double ns = steps.mean_ns[static_cast<std::size_t>(Category::kCommunication)];
  if (subject.analysis.gpu.collectives.empty() || subject.step_thread.is_synthetic) return;
  const double talking = ns * static_cast<double>(subject.step_thread.steps.size());
  if (talking <= kCommunicationShare * static_cast<double>(subject.step_thread.total_step_ns()))
    return;
  const auto& rows = subject.analysis.gpu.collectives;
  const auto largest = std::max_element(
      rows.begin(), rows.end(), [](const CollectiveRow& a, const CollectiveRow& b) {
        return a.host.total_ns + a.device.total_ns < b.host.total_ns + b.device.total_ns;
      });
  SourceLocation where;
  for (const CallSiteRow& site : subject.analysis.host.sites) {
    if (site.name != largest->name || site.frame == 0) continue;
    const StackFrame& frame = subject.analysis.stack_table.frames[site.frame];
    where = {frame.file, frame.name, frame.line, frame.line};
    break;
  }
  Advice advice = make_advice(subject, kCommunication, where, talking);
  advice.finding = fmt::format(messages::advice_ranks::kCommunication, format_time(ns),
                               largest->name, amount_of(*largest));
  advice.suggestion = messages::advice_ranks::kTryLessCommunication;
  advice.figures = {{"communication_ns_per_step", ns}};
  if (!largest->known_by_kernel_only())
    advice.figures.insert(advice.figures.end(),
                          {{"calls", static_cast<double>(largest->host.count)},
                           {"bytes", static_cast<double>(largest->bytes)}});
  found->push_back(std::move(advice));
}

void slow_rank(std::span<const RuleInput> subjects, AdviceList* found) {
  std::vector<double> own;
  bool talks = subjects.size() >= 2;
  for (const RuleInput& subject : subjects) {
    talks = talks && !subject.step_thread.collectives.empty() &&
            !subject.step_thread.is_synthetic && !subject.step_thread.steps.empty();
    own.push_back(own_ns(subject.step_thread));
  }
  if (!talks) return;
  const auto slowest = std::max_element(own.begin(), own.end());
  const RuleInput& slow = subjects[static_cast<std::size_t>(slowest - own.begin())];
  std::vector<double> others = own;
  others.erase(others.begin() + (slowest - own.begin()));
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  const double more = *slowest - *middle;
  const double step_ns =
      per_step(slow.step_thread, static_cast<double>(slow.step_thread.total_step_ns()));
  if (more < kSlowShare * step_ns) return;
  const Difference difference = largest_difference(subjects, slow.step_thread);
  SourceLocation where;
  if (difference.ns >= kLineShare * more) {
    const auto& [file, function, from, to] = difference.line;
    where = {file, function, from, std::max(from, to)};
  }
  Advice advice = make_advice(slow, kSlowRank, where, 0);
  // Where a line is known, its time: the others may wait less, if they talk and compute at once.
  advice.ns_per_step = where.known() ? difference.ns : more;
  advice.share = advice.ns_per_step / step_ns;
  advice.finding =
      fmt::format(messages::advice_ranks::kSlowRank, name_of_process(slow), format_time(more));
  if (where.known())
    advice.finding += fmt::format(messages::advice_ranks::kSlowLine, format_time(difference.ns));
  advice.suggestion = messages::advice_ranks::kTryEqualWork;
  advice.figures = {{"own_ns_per_step", *slowest},
                    {"others_own_ns_per_step", *middle},
                    {"waited_for_ns_per_step", more},
                    {"line_ns_per_step", difference.ns}};
  found->push_back(std::move(advice));
}

}  // namespace gpuprof::report::advice
