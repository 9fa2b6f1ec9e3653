// SPDX-License-Identifier: Apache-2.0
//
// The step as a whole: what is claimed or only seen, its metrics, the curves of both sides, all
// ranks.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/messages/diff_page.hpp"
#include "analysis/report/diff/data/metrics.hpp"
#include "analysis/report/diff/output/findings.hpp"
#include "analysis/report/diff_page/diff_sections.hpp"

namespace gpuprof::report::diff {
namespace {

std::string_view unit_name(Unit unit) {
  constexpr std::string_view kNames[] = {"us", "bytes", "number", "number"};
  return kNames[static_cast<std::size_t>(unit)];
}

void write_value(PageJson& json, double value, Unit unit) {
  if (unit == Unit::kTime)
    json.us(value);
  else
    json.number(value);
}

void write_curve(PageJson& json, const StepProfile& profile) {
  json.object().key("of").number(profile.steps_per_cell);
  json.key("warm_up").number(static_cast<std::uint64_t>(profile.warm_up)).key("us").array();
  if (profile.has_steps)
    for (const double ns : profile.of(StepMeasure::kLength)) json.us(ns);
  json.end_array().end_object();
}

/// Writes as many as there is room for. Returns how many there is none for.
std::size_t write_list(DiffSectionContext& part, const std::vector<Finding>& findings) {
  PageJson& json = part.json;
  const std::size_t shown = std::min(findings.size(), part.rows);
  json.array();
  for (std::size_t i = 0; i < shown; ++i) {
    const Finding& finding = findings[i];
    json.object().key("what").text(finding.subject).key("name").text(finding.name);
    json.key("change").text(finding.change).key("more").flag(finding.is_increase);
    json.key("sentence").text(finding.message).key("details").texts(finding.details);
    json.key("evidence").texts(finding.evidence).end_object();
  }
  json.end_array();
  return findings.size() - shown;
}

}  // namespace

void write_change(PageJson& json, double before, double after) {
  if (before > 0 && after > 0)
    json.number(after / before - 1);
  else if (before > 0 || after > 0)
    json.text(before > 0 ? "gone" : "new");
  else
    json.null();
}

void write_share(PageJson& json, double share, bool known) {
  if (known)
    json.number(share);
  else
    json.null();
}

std::string figures_note(bool by_step) {
  return by_step ? messages::diff_page::kFiguresPerStep : messages::diff_page::kFiguresPerCall;
}

void write_findings(DiffSectionContext& part) {
  const std::size_t left = write_list(part, significant_findings(part.process, part.diff.pairs()));
  if (left != 0)
    part.left_out.push_back(fmt::format(messages::diff_page::kSignificantLeftOut, left));
}

void write_unconfirmed(DiffSectionContext& part) {
  const std::size_t pairs = part.diff.pairs();
  part.json.object().key("title").text(unconfirmed_title(pairs));
  part.json.key("sentence").text(unconfirmed_explanation(pairs)).key("claims");
  const std::size_t left = write_list(part, unconfirmed_findings(part.process, pairs));
  if (left != 0)
    part.left_out.push_back(fmt::format(messages::diff_page::kUnconfirmedLeftOut, left));
  part.json.end_object();
}

void write_metrics(DiffSectionContext& part) {
  static constexpr std::array kColumns{PageColumn{"name", "What", "text"},
                                       PageColumn{"significant", "Significant", "flag"},
                                       PageColumn{"seen_once", "Unconfirmed", "flag"},
                                       PageColumn{"before", "Before", "row"},
                                       PageColumn{"after", "After", "row"},
                                       PageColumn{"change", "Change", "change"},
                                       PageColumn{"limit", "Noise limit", "percent"},
                                       PageColumn{"adjusted", "Adjusted", "change"},
                                       PageColumn{"spread_before", "Spread before", "percent"},
                                       PageColumn{"spread_after", "Spread after", "percent"}};
  PageJson& json = part.json;
  page::begin_table(json, "metrics", part.process.by_step ? "The step" : "A slice of the recording",
                    kColumns, "", figures_note(part.process.by_step));
  for (const StepMetric& known : step_metrics()) {
    const MetricDiff* row = part.process.metric(known.name);
    if (row == nullptr) continue;
    const Change& change = row->change;
    const bool both = change.before > 0 && change.after > 0;
    json.array().text(known.title).number(change.significant ? 1u : 0u);
    json.number(change.is_unconfirmed ? 1u : 0u);
    write_value(json, change.before, known.unit);
    write_value(json, change.after, known.unit);
    write_change(json, change.before, change.after);
    write_share(json, change.threshold, both);
    write_share(json, change.adjusted, both);
    json.number(change.before_spread).number(change.after_spread);
    json.text(unit_name(known.unit)).end_array();
  }
  page::end_table(json, 0);
}

void write_curves(DiffSectionContext& part) {
  part.json.array();
  for (const StepProfile* profile : {&part.process.before, &part.process.after})
    write_curve(part.json, *profile);
  part.json.end_array();
}

void write_ranks(PageJson& json, const Diff& diff) {
  static constexpr std::array kColumns{PageColumn{"process", "Process", "text"},
                                       PageColumn{"claims", "Significant changes", "count"},
                                       PageColumn{"before", "Step before", "us"},
                                       PageColumn{"after", "Step after", "us"},
                                       PageColumn{"change", "Change", "change"},
                                       PageColumn{"significant", "Step significant", "flag"}};
  page::begin_table(json, "ranks", "All processes", kColumns, "");
  for (const ProcessDiff& process : diff.processes) {
    const MetricDiff* step = process.metric("step_time");
    static const Change kNone;
    const Change& change = step == nullptr ? kNone : step->change;
    json.array().text(process_name(process));
    json.number(static_cast<std::uint64_t>(significant_findings(process, diff.pairs()).size()));
    json.us(change.before).us(change.after);
    write_change(json, change.before, change.after);
    json.number(change.significant ? 1u : 0u).end_array();
  }
  page::end_table(json, 0);
}

}  // namespace gpuprof::report::diff
