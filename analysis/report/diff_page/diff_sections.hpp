// SPDX-License-Identifier: Apache-2.0
//
// The parts of a comparison's data: each writes the value of one member.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <string>
#include <vector>

#include "analysis/report/diff/data/diff.hpp"
#include "analysis/report/page/page_json.hpp"

namespace gpuprof::report::diff {

using page::PageColumn;
using page::PageJson;

/// What the parts of one process share.
struct DiffSectionContext {
  PageJson& json;
  const Diff& diff;
  const ProcessDiff& process;
  std::size_t rows;                    // of each table
  std::vector<std::string>& left_out;  // sentences: what is not in the page
};

/// `rank 2`, `process 4711 and process 4805`.
std::string process_name(const ProcessDiff& process);
/// A change as a table has it: a ratio, or `new`, `gone`, or nothing.
void write_change(PageJson& json, double before, double after);
/// A share, or nothing.
void write_share(PageJson& json, double share, bool known);

/// What the columns of a table of changes mean.
std::string figures_note(bool by_step);

void write_findings(DiffSectionContext& part);
void write_unconfirmed(DiffSectionContext& part);  // what is shown and not claimed, and why
void write_metrics(DiffSectionContext& part);      // a table
void write_curves(DiffSectionContext& part);       // time of each step of both sides
void write_operators(DiffSectionContext& part);    // tables
void write_gpu_work(DiffSectionContext& part);     // tables
void write_memory(DiffSectionContext& part);       // a table
void write_environment(DiffSectionContext& part);
void write_limits(
    DiffSectionContext& part);  // what cannot be compared, and why: groups of sentences
/// Of all processes: a table.
void write_ranks(PageJson& json, const Diff& diff);

}  // namespace gpuprof::report::diff
