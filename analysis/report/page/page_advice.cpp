// SPDX-License-Identifier: Apache-2.0
//
// The advice as the page lists it: figures in words, whom it is about.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/messages/page.hpp"
#include "analysis/messages/report_shared.hpp"
#include "analysis/report/advice/advice.hpp"
#include "analysis/report/page/page.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::page {
namespace {

bool strip_suffix(std::string& name, std::string_view ending) {
  if (!name.ends_with(ending)) return false;
  name.resize(name.size() - ending.size());
  return true;
}

/// `waits_per_step` 3 → `waits per step: 3`; `mean_ns` 410000 → `mean: 410 us`.
std::string format_figure(const advice::Figure& figure) {
  std::string name = figure.name, value;
  const auto whole = static_cast<std::uint64_t>(std::llround(std::max(0.0, figure.value)));
  const bool bytes = name.find("bytes") != std::string::npos;
  if (strip_suffix(name, "_ns"))
    value = support::human_duration(whole);
  else if (name.find("_ns_") != std::string::npos)
    value = support::human_duration(whole);
  else if (bytes)
    value = support::human_bytes(whole);
  else if (strip_suffix(name, "_percent"))
    value = fmt::format("{:.1f} %", figure.value);
  else if (strip_suffix(name, "_share"))
    value = fmt::format("{:.1f} %", 100 * figure.value);
  else
    value = fmt::format("{:.6g}", figure.value);
  if (const std::size_t at = name.find("_ns_"); at != std::string::npos) name.erase(at, 3);
  std::replace(name.begin(), name.end(), '_', ' ');
  return fmt::format("{}: {}", name, value);
}

std::optional<std::size_t> process_of(const advice::Advice& one, const Report& report) {
  if (one.processes != 1 || report.processes.size() < 2) return std::nullopt;
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const Meta& meta = report.processes[i].meta;
    if (meta.pid == one.pid && meta.rank == one.rank) return i;
  }
  return std::nullopt;
}

PageAdvice make_page_advice(const advice::Advice& one, const Report& report) {
  PageAdvice out;
  const advice::Rule* rule = advice::find_rule(one.rule);
  out.rule = one.rule;
  out.title = rule != nullptr ? std::string(rule->title) : out.rule;
  out.message = one.finding;
  out.change = one.suggestion;
  out.file = one.where.file;
  out.line = one.where.line;
  out.last_line = one.where.last_line;
  out.function = one.where.function;
  out.share = one.share;
  out.share_of = one.share_base == messages::report_shared::kShareOfStep
                     ? messages::report_shared::kOfAStep
                     : fmt::format(messages::report_shared::kOfThe, one.share_base);
  if (one.ns_per_step > 0)
    out.evidence.push_back(
        fmt::format(messages::page::kTimePerStep,
                    support::human_duration(static_cast<std::uint64_t>(one.ns_per_step))));
  for (const advice::Figure& figure : one.figures) out.evidence.push_back(format_figure(figure));
  if (!one.line_source.empty())
    out.evidence.push_back(fmt::format(messages::page::kLineSource, one.line_source));
  if (one.processes > 1)
    out.evidence.push_back(fmt::format(messages::page::kWorstOfProcesses, one.processes));
  out.process = process_of(one, report);
  return out;
}

}  // namespace

std::vector<PageAdvice> page_advice(const Report& report) {
  std::vector<advice::RuleInput> subjects;
  for (const ProcessReport& analysis : report.processes)
    subjects.push_back({analysis, analysis.step_thread});
  std::vector<PageAdvice> out;
  for (const advice::Advice& one : advice::run_rules(subjects))
    out.push_back(make_page_advice(one, report));
  return out;
}

}  // namespace gpuprof::report::page
