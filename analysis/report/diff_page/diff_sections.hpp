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

using page::Column;
using page::Json;

/// What the parts of one process share.
struct Part {
  Json& json;
  const Diff& diff;
  const ProcessDiff& process;
  std::size_t rows;                    // of each table
  std::vector<std::string>& left_out;  // sentences: what is not in the page
};

/// `rank 2`, `process 4711 and process 4805`.
std::string name_of(const ProcessDiff& process);
/// A change as a table has it: a ratio, or `new`, `gone`, or nothing.
void write_change(Json& json, double before, double after);
/// A share, or nothing.
void write_share(Json& json, double share, bool known);

/// What the columns of a table of changes mean.
std::string figures_note(bool by_step);

void write_claims(Part& part);
void write_seen_once(Part& part);  // what is shown and not claimed, and why
void write_metrics(Part& part);    // a table
void write_curves(Part& part);     // time of each step of both sides
void write_operators(Part& part);  // tables
void write_gpu_work(Part& part);   // tables
void write_memory(Part& part);     // a table
void write_environment(Part& part);
void write_limits(Part& part);  // what cannot be compared, and why: groups of sentences
/// Of all processes: a table.
void write_ranks(Json& json, const Diff& diff);

}  // namespace gpuprof::report::diff
