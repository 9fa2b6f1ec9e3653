// SPDX-License-Identifier: Apache-2.0
//
// The parts of the page's data: each writes the value of one member.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "analysis/messages/page.hpp"
#include "analysis/report/page/page.hpp"
#include "analysis/report/page/page_json.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::page {

/// What the parts of one process share.
struct SectionContext {
  PageJson& json;
  const ProcessReport& analysis;
  Limits limits;  // of this process
  std::vector<std::string>& left_out;
};

/// What a process is called where there are several: `rank 2 (host, pid 4711)`.
std::string process_name(const Meta& meta);

void write_steps(SectionContext& part);      // of "steps"
void write_wall(SectionContext& part);       // of "wall": all of the recorded time
void write_gpus(SectionContext& part);       // of "gpus"
void write_operators(SectionContext& part);  // "operators": tables
void write_gpu_work(SectionContext& part);   // "kernels": tables
void write_flames(SectionContext& part);
void write_timeline(SectionContext& part, const PageTimeline* timeline);
void write_memory(SectionContext& part);
void write_modules(SectionContext& part);
void write_environment(SectionContext& part);
void write_losses(SectionContext& part);
/// Of all processes: "distributed", tables.
void write_distributed(PageJson& json, const Report& report);

/// Writes a table of the first `limit` rows, and a sentence where there are more.
///
/// @param cells  cells(row): appends the values of a row, one for each column
template <typename Rows, typename Cells>
void write_table(SectionContext& part, std::string_view key, std::string_view title,
                 std::span<const PageColumn> columns, std::string_view sort, std::string_view note,
                 const Rows& rows, const Cells& cells) {
  begin_table(part.json, key, title, columns, sort, note);
  const std::size_t shown = std::min(rows.size(), part.limits.rows);
  for (std::size_t i = 0; i < shown; ++i) {
    part.json.array();
    cells(rows[i]);
    part.json.end_array();
  }
  end_table(part.json, rows.size() - shown);
  if (rows.size() > shown) {
    part.left_out.push_back(
        fmt::format(messages::page::kRowsLeftOut, title,
                    support::count_with_unit(rows.size() - shown, "row", "rows")));
  }
}

/// Where a frame is: `train.py:42`; empty for none.
std::string place_of(const ProcessReport& analysis, FrameId frame);

}  // namespace gpuprof::report::page
