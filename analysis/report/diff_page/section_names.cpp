// SPDX-License-Identifier: Apache-2.0
//
// Tables of names: operators and ranges, kernels and copies, before and after.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/messages/diff_findings.hpp"
#include "analysis/messages/diff_page.hpp"
#include "analysis/report/diff/output/findings.hpp"
#include "analysis/report/diff/output/format_value.hpp"
#include "analysis/report/diff_page/diff_sections.hpp"

namespace gpuprof::report::diff {
namespace {

constexpr std::array kColumns{PageColumn{"name", "Name", "name"},
                              PageColumn{"kind", "Kind", "text"},
                              PageColumn{"significant", "Significant", "flag"},
                              PageColumn{"seen_once", "Unconfirmed", "flag"},
                              PageColumn{"before", "Before", "us"},
                              PageColumn{"after", "After", "us"},
                              PageColumn{"change", "Change", "change"},
                              PageColumn{"limit", "Noise limit", "percent"},
                              PageColumn{"adjusted", "Adjusted", "change"},
                              PageColumn{"spread_before", "Spread before", "percent"},
                              PageColumn{"spread_after", "Spread after", "percent"},
                              PageColumn{"share_before", "Share of step before", "percent"},
                              PageColumn{"share_after", "Share of step after", "percent"},
                              PageColumn{"calls_before", "Calls before", "number"},
                              PageColumn{"calls_after", "Calls after", "number"},
                              PageColumn{"told", "Time shown", "text"}};

/// Which of a row's times a table is made of.
struct Choice {
  std::string_view key, title, reported;  // told: of every row; empty: as the row says
  const Change& (*change)(const NameDiff& row);
  bool (*has)(const NameDiff& row);
};

constexpr Choice kTelling{"all", "most relevant time", "",
                          [](const NameDiff& row) -> const Change& { return row.primary_change(); },
                          [](const NameDiff&) { return true; }};
constexpr std::array kOfOperators{
    kTelling,
    Choice{"self", messages::diff_findings::kSelfTime, messages::diff_findings::kSelfTime,
           [](const NameDiff& row) -> const Change& { return row.self; },
           [](const NameDiff& row) { return !row.on_gpu(); }},
    Choice{"total", messages::diff_findings::kTotalTime, messages::diff_findings::kTotalTime,
           [](const NameDiff& row) -> const Change& { return row.total; },
           [](const NameDiff& row) { return !row.on_gpu(); }},
    Choice{"device", messages::diff_findings::kLaunchedGpuTime,
           messages::diff_findings::kLaunchedGpuTime,
           [](const NameDiff& row) -> const Change& { return row.device; },
           [](const NameDiff& row) { return !row.on_gpu(); }}};

/// A name as a whole, or the change of one of its times.
template <typename One>
void write_claimed(PageJson& json, const One& one) {
  json.number(one.significant ? 1u : 0u).number(one.is_unconfirmed ? 1u : 0u);
}

void write_row(DiffSectionContext& part, const NameDiff& row, const Choice& choice) {
  const Change& change = choice.change(row);
  const bool both = change.before > 0 && change.after > 0;
  PageJson& json = part.json;
  json.array().text(row.name).text(name_of(row.kind));
  if (choice.reported.empty())
    write_claimed(json, row);
  else
    write_claimed(json, change);
  json.us(change.before).us(change.after);
  write_change(json, change.before, change.after);
  write_share(json, change.threshold, both);
  write_share(json, change.adjusted, both);
  write_share(json, change.before_spread, change.before > 0);
  write_share(json, change.after_spread, change.after > 0);
  json.number(change.share_before).number(change.share_after);
  json.number(row.calls_before).number(row.calls_after);
  json.text(choice.reported.empty() ? primary_quantity(row) : choice.reported).end_array();
}

void write_table(DiffSectionContext& part, std::string_view key, const Choice& choice,
                 const std::vector<const NameDiff*>& rows) {
  page::begin_table(part.json, fmt::format("{}_{}", key, choice.key), choice.title, kColumns, "",
                    figures_note(part.process.by_step));
  std::size_t written = 0, left = 0;
  for (const NameDiff* row : rows) {
    if (!choice.change(*row).measured || !choice.has(*row)) continue;
    if (written < part.rows) {
      write_row(part, *row, choice);
      ++written;
    } else {
      ++left;
    }
  }
  page::end_table(part.json, left);
  if (left != 0 && choice.reported.empty())
    part.left_out.push_back(fmt::format(messages::diff_page::kNamesLeftOut, left, key));
}

std::vector<const NameDiff*> rows_of(const ProcessDiff& process, bool on_gpu) {
  std::vector<const NameDiff*> rows;
  for (const NameDiff& row : process.names)
    if (row.on_gpu() == on_gpu) rows.push_back(&row);
  return rows;
}

}  // namespace

void write_operators(DiffSectionContext& part) {
  const std::vector<const NameDiff*> rows = rows_of(part.process, false);
  part.json.array();
  for (const Choice& choice : kOfOperators) write_table(part, "operators", choice, rows);
  part.json.end_array();
}

void write_gpu_work(DiffSectionContext& part) {
  part.json.array();
  write_table(part, "kernels", kTelling, rows_of(part.process, true));
  part.json.end_array();
}

}  // namespace gpuprof::report::diff
