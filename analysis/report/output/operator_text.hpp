// SPDX-License-Identifier: Apache-2.0
//
// Operators as torch's key_averages().table() prints them, to the digit.
//
// Context:  cli
// Owns:     nothing
// Promises: columns, widths, units, the cut of names and the lines below are PyTorch's
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/process_report.hpp"

namespace gpuprof::report {

struct OperatorTextOptions {
  Grouping grouping;
  std::string sort_by;  // as PyTorch spells it; empty: in order of appearance
  std::size_t row_limit = 100;
  std::vector<std::string> columns;  // titles or keys, `self_cpu`; empty: those PyTorch shows
};

/// Keys `sort_by` takes.
std::vector<std::string> operator_sort_keys();

/// Sorts grouped rows by a key of PyTorch's tables.
///
/// Errors: an unknown key.
support::Result<void> sort_operators(std::vector<OperatorRow>& rows, std::string_view key);

support::Result<std::string> operator_text(ProcessReport& analysis,
                                           const OperatorTextOptions& options);

}  // namespace gpuprof::report
