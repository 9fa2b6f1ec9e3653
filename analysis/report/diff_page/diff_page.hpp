// SPDX-License-Identifier: Apache-2.0
//
// A comparison as one page for a browser: a file that loads nothing from anywhere.
//
// Context:  cli
// Owns:     nothing
// Promises: the figures of diff_json.cpp; the size of the page is bounded whatever the number of
//           names; names of the programs are data in it, never markup
// Not here: its file (page/page_file.hpp), how it looks (page/web), the figures
//           (diff/data/diff.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/diff/data/diff.hpp"
#include "support/result.hpp"

namespace gpuprof::report::diff {

struct DiffPageRequest {
  std::string path;  // of the page
  bool force = false;
  std::string version;                       // of gpuprof
  std::vector<std::string> held_conditions;  // sentences: conditions that hold
  std::size_t rows = 3000;                   // of each table, of all processes together
};

/// Writes the page and returns its size in bytes.
///
/// Errors: those of page::write_page_file.
support::Result<std::uint64_t> write_diff_page(const Diff& diff, const DiffPageRequest& request);

/// The data of the page as JSON (docs/report-page.md).
std::string diff_page_data(const Diff& diff, const DiffPageRequest& request);

}  // namespace gpuprof::report::diff
