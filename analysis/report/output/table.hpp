// SPDX-License-Identifier: Apache-2.0
//
// A table as data: what text, CSV and JSON are written from.
//
// Context:  cli
// Owns:     its cells
// Promises: times are ns, memory is bytes, shares are 0..100; keys end in _ns, _bytes, _percent
// Not here: which tables there are (tables.hpp), PyTorch's own layout (operator_text.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::report {

enum class Unit : std::uint8_t { kText, kCount, kNs, kBytes, kPercent, kNumber };

struct Column {
  std::string key, title;
  Unit unit = Unit::kText;
  bool shown = true;  // in text, where the person names no columns
};

/// The last: not known.
using Cell = std::variant<std::string, std::int64_t, double, std::monostate>;

struct Table {
  std::string name;  // "kernel"
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// Index of a column by key, with or without its unit, or by title in any case; a sentence with the
/// nearest one where there is none.
support::Result<std::size_t> find_column(const Table& table, std::string_view key);

/// Numbers from the largest, texts from A.
support::Result<void> sort_table(Table& table, std::string_view key);
/// Only these, in this order, and all of them shown.
support::Result<void> select_columns(Table& table, const std::vector<std::string>& keys);

/// Lines with a heading; the last text column is cut to `width` columns, 0: not cut. Of a place in
/// the program (`line`) the end stays.
std::string format_table(const Table& table, std::size_t row_limit, std::size_t width);

/// A cell as text shows it: `1.234ms`, `3.4 MiB`, `12.3`.
std::string format_cell(const Cell& cell, Unit unit);

/// Nanoseconds as PyTorch's tables print them.
std::string format_time(double ns);

}  // namespace gpuprof::report
