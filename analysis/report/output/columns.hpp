// SPDX-License-Identifier: Apache-2.0
//
// Columns of a table, written down one after the other.
//
// Context:  cli
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "analysis/report/output/table_columns.hpp"
#include "analysis/report/wall_time/wall_time.hpp"

namespace gpuprof::report {

template <typename Row>
class Columns {
 public:
  template <typename Value>
  Columns& add(const char* key, const char* title, Unit unit, Value value, bool shown = true) {
    columns_.push_back({{key, title, unit, shown}, [value](const Row& row) -> Cell {
                          if constexpr (std::is_convertible_v<decltype(value(row)), std::string>)
                            return std::string(value(row));
                          else if constexpr (std::is_floating_point_v<decltype(value(row))>)
                            return static_cast<double>(value(row));
                          else
                            return static_cast<std::int64_t>(value(row));
                        }});
    return *this;
  }
  const std::vector<ColumnFrom<Row>>& all() const { return columns_; }

 private:
  std::vector<ColumnFrom<Row>> columns_;
};

/// What ran, where, and who says so.
///
/// @param reported  reported(row): a const HostActivity&
template <typename Row, typename Get>
void add_activity_columns(Columns<Row>& c, Get reported) {
  c.add("doing", "Doing", Unit::kText,
        [reported](const Row& r) {
          return reported(r).ns == 0 ? std::string() : std::string(key_of(reported(r).kind));
        })
      .add("what", "What", Unit::kText, [reported](const Row& r) { return reported(r).what; })
      .add(
          "function", "Function", Unit::kText,
          [reported](const Row& r) { return reported(r).function; }, false)
      .add(
          "line_by", "Line by", Unit::kText,
          [reported](const Row& r) { return reported(r).line_source; }, false)
      .add("line", "Line", Unit::kText, [reported](const Row& r) { return reported(r).place(); });
}

}  // namespace gpuprof::report
