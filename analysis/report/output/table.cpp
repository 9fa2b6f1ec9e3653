// SPDX-License-Identifier: Apache-2.0
//
// Tables as lines of text.
//
// Context:  cli
#include "analysis/report/output/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "analysis/messages/report.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report {
namespace {

/// Characters, not bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string cut(const std::string& text, std::size_t width) {
  if (width_of(text) <= width || width < 4) return text;
  std::string shorter;
  std::size_t kept = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 && ++kept > width - 3) break;
    shorter += c;
  }
  return shorter + "...";
}

/// The same from the front: of `/home/me/train.py:41` the end says most.
std::string cut_front(const std::string& text, std::size_t width) {
  const std::size_t all = width_of(text);
  if (all <= width || width < 4) return text;
  std::size_t left_out = all - (width - 3), at = 0;
  while (at < text.size()) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && left_out-- == 0) break;
    ++at;
  }
  return "..." + text.substr(at);
}

/// As keys are written.
std::string plain(std::string_view title) {
  std::string text(title);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  return text;
}

/// What else a column may be called, which is how people type what they read: `total` and `waited`
/// for `total_ns` and its title `Waited`, and `waited_ns`.
std::array<std::string, 3> other_names(const Column& column) {
  const std::size_t unit = column.unit == Unit::kText ? std::string::npos : column.key.rfind('_');
  const std::string title = plain(column.title);
  return {column.key.substr(0, unit), title,
          title + (unit == std::string::npos ? "" : column.key.substr(unit))};
}

double number(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&cell);
  return real == nullptr ? 0 : *real;
}

std::string pad(const std::string& text, std::size_t width, bool left) {
  const std::size_t own = width_of(text);
  const std::string blanks(width > own ? width - own : 0, ' ');
  return left ? text + blanks : blanks + text;
}

}  // namespace

std::string format_time(double ns) {
  if (ns >= 1e9) return fmt::format("{:.3f}s", ns / 1e9);
  if (ns >= 1e6) return fmt::format("{:.3f}ms", ns / 1e6);
  return fmt::format("{:.3f}us", ns / 1e3);
}

std::string format_cell(const Cell& cell, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (std::holds_alternative<std::monostate>(cell)) return "";
  switch (unit) {
    case Unit::kNs:
      return format_time(number(cell));
    case Unit::kBytes: {
      const double bytes = number(cell);
      return (bytes < 0 ? "-" : "") +
             support::human_bytes(static_cast<std::uint64_t>(bytes < 0 ? -bytes : bytes));
    }
    case Unit::kPercent:
      return fmt::format("{:.1f}%", number(cell));
    case Unit::kNumber:
      return fmt::format("{:.2f}", number(cell));
    default:
      return fmt::format("{}", static_cast<std::int64_t>(number(cell)));
  }
}

support::Result<std::size_t> find_column(const Table& table, std::string_view key) {
  std::vector<std::string> keys;
  for (const Column& column : table.columns) {
    if (column.key == key || column.title == key)
      return static_cast<std::size_t>(&column - table.columns.data());
    keys.push_back(column.key);
  }
  for (const Column& column : table.columns) {
    const auto names = other_names(column);
    if (std::find(names.begin(), names.end(), plain(key)) != names.end())
      return static_cast<std::size_t>(&column - table.columns.data());
  }
  return support::error(fmt::format(messages::report::kNoColumn, table.name,
                                    support::in_quotes(key), support::did_you_mean(key, keys),
                                    support::join(keys, ", ")));
}

support::Result<void> sort_table(Table& table, std::string_view key) {
  GPUPROF_TRY(column, find_column(table, key));
  const std::size_t at = column;
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    const auto* text = std::get_if<std::string>(&a[at]);
    const auto* other = std::get_if<std::string>(&b[at]);
    if (text != nullptr && other != nullptr) return *text < *other;
    return number(a[at]) > number(b[at]);
  });
  return {};
}

support::Result<void> select_columns(Table& table, const std::vector<std::string>& keys) {
  Table selected;
  selected.name = table.name;
  std::vector<std::size_t> from;
  for (const std::string& key : keys) {
    GPUPROF_TRY(column, find_column(table, key));
    from.push_back(column);
    selected.columns.push_back(table.columns[column]);
    selected.columns.back().shown = true;
  }
  for (const auto& row : table.rows) {
    auto& made = selected.rows.emplace_back();
    for (const std::size_t at : from) made.push_back(row[at]);
  }
  table = std::move(selected);
  return {};
}

std::string format_table(const Table& table, std::size_t row_limit, std::size_t width) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].shown) columns.push_back(i);
  const std::size_t count = std::min(row_limit, table.rows.size());
  std::vector<std::vector<std::string>> cells(count);
  std::vector<std::size_t> widths;
  for (const std::size_t c : columns) {
    std::size_t widest = width_of(table.columns[c].title);
    for (std::size_t r = 0; r < count; ++r) {
      cells[r].push_back(format_cell(table.rows[r][c], table.columns[c].unit));
      widest = std::max(widest, width_of(cells[r].back()));
    }
    widths.push_back(widest);
  }
  std::size_t all = 0, last_text = columns.size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    all += widths[i] + (i == 0 ? 0 : 2);
    if (table.columns[columns[i]].unit == Unit::kText) last_text = i;
  }
  constexpr std::size_t kMin = 24;
  if (width != 0 && all > width && last_text < columns.size() && widths[last_text] > kMin)
    widths[last_text] =
        std::max(kMin, widths[last_text] - std::min(widths[last_text], all - width));
  std::string text;
  const auto line = [&](const auto& cell_at) {
    std::string out;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Column& column = table.columns[columns[i]];
      const std::string cell =
          column.key == "line" ? cut_front(cell_at(i), widths[i]) : cut(cell_at(i), widths[i]);
      out += (i == 0 ? "" : "  ") + pad(cell, widths[i], column.unit == Unit::kText);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + '\n';
  };
  line([&](std::size_t i) { return table.columns[columns[i]].title; });
  line([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : cells) line([&](std::size_t i) { return row[i]; });
  const std::size_t more = table.rows.size() - count;
  if (more == 1) text += std::string(messages::report::kOneMoreRow) + '\n';
  if (more > 1) text += fmt::format(messages::report::kMoreRows, more) + '\n';
  return text;
}

}  // namespace gpuprof::report
