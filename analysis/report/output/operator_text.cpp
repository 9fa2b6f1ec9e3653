// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's own table.
//
// Context:  cli
#include "analysis/report/output/operator_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <utility>

#include "analysis/messages/report.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report {
namespace {

constexpr std::size_t kMaxName = 55, kMaxShapes = 80, kMaxSource = 75, kWidth = 12;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

std::string time_text_us(double us) {
  if (us >= 1e6) return fmt::format("{:.3f}s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.3f}ms", us / 1e3);
  return fmt::format("{:.3f}us", us);
}

std::string share_text(std::int64_t ns, std::int64_t all_ns) {
  if (all_ns == 0) return "NaN";
  return fmt::format("{:.2f}%", us(ns) * 100.0 / us(all_ns));
}

std::string memory_text(std::int64_t bytes) {
  constexpr std::int64_t kKb = 1024, kMb = kKb * 1024, kGb = kMb * 1024;
  const std::int64_t size = bytes < 0 ? -bytes : bytes;
  const auto in = [&](std::int64_t unit, const char* name) {
    return fmt::format("{:.2f} {}", static_cast<double>(bytes) / static_cast<double>(unit), name);
  };
  if (size >= kGb) return in(kGb, "GB");
  if (size >= kMb) return in(kMb, "MB");
  if (size >= kKb) return in(kKb, "KB");
  return fmt::format("{} B", bytes);
}

std::string average_text(std::int64_t ns, std::uint64_t count) {
  return time_text_us(count == 0 ? 0 : us(ns) / static_cast<double>(count));
}

/// Characters as Python counts them.
std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string first_of(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && characters-- == 0) break;
  return std::string(text.substr(0, at));
}

std::string name_text(const std::string& name) {
  return length_of(name) >= kMaxName - 3 ? first_of(name, kMaxName - 3) + "..." : name;
}

std::string source_text(std::string path, std::size_t width) {
  if (path.size() <= width) return path;
  path = path.substr(path.size() - width);
  return path.size() > 3 ? "..." + path.substr(3) : path;
}

struct Totals {
  std::int64_t cpu_ns = 0, device_ns = 0;
};

struct TextColumn {
  std::string key, title;
  std::size_t width = kWidth;
  bool left = false;
  std::function<std::string(const OperatorRow&, const Totals&)> cell;
};

std::vector<TextColumn> time_columns(const std::string& device, bool with_device) {
  std::vector<TextColumn> columns;
  const auto add = [&](const char* key, const std::string& title, auto cell) {
    columns.push_back({key, title, kWidth, false, cell});
  };
  using R = const OperatorRow&;
  using T = const Totals&;
  add("self_cpu_percent", "Self CPU %",
      [](R r, T t) { return share_text(r.self_cpu_ns, t.cpu_ns); });
  add("self_cpu", "Self CPU", [](R r, T) { return time_text_us(us(r.self_cpu_ns)); });
  add("cpu_percent", "CPU total %", [](R r, T t) { return share_text(r.cpu_ns, t.cpu_ns); });
  add("cpu", "CPU total", [](R r, T) { return time_text_us(us(r.cpu_ns)); });
  add("cpu_avg", "CPU time avg", [](R r, T) { return average_text(r.cpu_ns, r.count); });
  if (!with_device) return columns;
  add("self_cuda", "Self " + device, [](R r, T) { return time_text_us(us(r.self_device_ns)); });
  add("self_cuda_percent", "Self " + device + " %",
      [](R r, T t) { return share_text(r.self_device_ns, t.device_ns); });
  add("cuda", device + " total", [](R r, T) { return time_text_us(us(r.device_ns)); });
  add("cuda_avg", device + " time avg", [](R r, T) { return average_text(r.device_ns, r.count); });
  return columns;
}

void add_memory_columns(std::vector<TextColumn>& columns, const std::string& device,
                        bool with_device) {
  using R = const OperatorRow&;
  using T = const Totals&;
  const auto add = [&](const char* key, const std::string& title, auto cell) {
    columns.push_back({key, title, kWidth, false, cell});
  };
  add("cpu_mem", "CPU Mem", [](R r, T) { return memory_text(r.cpu_bytes); });
  add("self_cpu_mem", "Self CPU Mem", [](R r, T) { return memory_text(r.self_cpu_bytes); });
  if (!with_device) return;
  add("cuda_mem", device + " Mem", [](R r, T) { return memory_text(r.device_bytes); });
  add("self_cuda_mem", "Self " + device + " Mem",
      [](R r, T) { return memory_text(r.self_device_bytes); });
}

std::vector<TextColumn> columns_of(const ProcessReport& a, const std::vector<OperatorRow>& rows,
                                   const Grouping& grouping) {
  std::size_t name = 0, shapes = 0, source = 0;
  bool device_time = false, device_memory = false, any_shape = false;
  for (const OperatorRow& r : rows) {
    name = std::max(name, length_of(r.name));
    shapes = std::max(shapes, r.shapes.size());
    any_shape = any_shape || (grouping.by_shape && r.shapes != "[]");
    device_time = device_time || r.self_device_ns > 0;
    device_memory = device_memory || r.self_device_bytes > 0;
    for (const FrameId frame : a.stack_table.stacks[r.stack])
      source = std::max(source, length_of(a.stack_table.frames[frame].text));
  }
  std::vector<TextColumn> columns{
      {"name", "Name", std::min(name + 4, kMaxName), false,
       [](const OperatorRow& r, const Totals&) { return name_text(r.name); }}};
  for (TextColumn& column : time_columns("CUDA", device_time)) columns.push_back(std::move(column));
  if (a.operators.has_memory) add_memory_columns(columns, "CUDA", device_time && device_memory);
  columns.push_back({"count", "# of Calls", kWidth, false,
                     [](const OperatorRow& r, const Totals&) { return std::to_string(r.count); }});
  if (any_shape) {
    const std::size_t width = std::min(shapes + 4, kMaxShapes);
    columns.push_back(
        {"shapes", "Input Shapes", width, false,
         [width](const OperatorRow& r, const Totals&) { return first_of(r.shapes, width); }});
  }
  if (source != 0)
    columns.push_back({"source", "Source Location", std::min(source + 4, kMaxSource), true, {}});
  return columns;
}

support::Result<std::vector<TextColumn>> selected(std::vector<TextColumn> all,
                                                  const std::vector<std::string>& wanted) {
  if (wanted.empty()) return all;
  std::vector<TextColumn> some;
  std::vector<std::string> keys;
  for (const TextColumn& column : all) keys.push_back(column.key);
  for (const std::string& want : wanted) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const TextColumn& c) {
      return c.key == want || c.title == want;
    });
    if (at == all.end())
      return support::error(fmt::format(messages::report::kNoColumn, "operator",
                                        support::in_quotes(want), support::did_you_mean(want, keys),
                                        support::join(keys, ", ")));
    some.push_back(*at);
  }
  return some;
}

std::string pad(const std::string& text, const TextColumn& column) {
  const std::size_t own = length_of(text);
  const std::string blanks(column.width > own ? column.width - own : 0, ' ');
  return (column.left ? text + blanks : blanks + text) + "  ";
}

std::string line(const std::vector<TextColumn>& columns,
                 const std::function<std::string(const TextColumn&)>& cell) {
  std::string text;
  for (const TextColumn& column : columns) text += pad(cell(column), column);
  return text + '\n';
}

std::int64_t value(const OperatorRow& r, std::string_view key) {
  if (key == "cpu_time_total") return r.cpu_ns;
  if (key == "self_cpu_time_total") return r.self_cpu_ns;
  if (key == "device_time_total") return r.device_ns;
  if (key == "self_device_time_total") return r.self_device_ns;
  if (key == "cpu_memory_usage") return r.cpu_bytes;
  if (key == "self_cpu_memory_usage") return r.self_cpu_bytes;
  if (key == "device_memory_usage") return r.device_bytes;
  if (key == "self_device_memory_usage") return r.self_device_bytes;
  return static_cast<std::int64_t>(r.count);
}

double average(const OperatorRow& r, std::string_view key) {
  const double sum = static_cast<double>(key == "cpu_time" ? r.cpu_ns : r.device_ns);
  return r.count == 0 ? 0 : sum / static_cast<double>(r.count);
}

constexpr std::array<std::string_view, 11> kSortKeys = {"self_cpu_time_total",
                                                        "cpu_time_total",
                                                        "self_device_time_total",
                                                        "device_time_total",
                                                        "self_cpu_memory_usage",
                                                        "cpu_memory_usage",
                                                        "self_device_memory_usage",
                                                        "device_memory_usage",
                                                        "count",
                                                        "cpu_time",
                                                        "device_time"};

/// The headings of PyTorch's table, small and without blanks, for those who type what they read.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kHeadings = {{
    {"self_cpu", "self_cpu_time_total"},
    {"cpu_total", "cpu_time_total"},
    {"self_device", "self_device_time_total"},
    {"device_total", "device_time_total"},
    {"self_cpu_mem", "self_cpu_memory_usage"},
    {"cpu_mem", "cpu_memory_usage"},
    {"self_device_mem", "self_device_memory_usage"},
    {"device_mem", "device_memory_usage"},
    {"#_of_calls", "count"},
    {"cpu_time_avg", "cpu_time"},
    {"device_time_avg", "device_time"},
}};

std::string sort_key_of(std::string_view given) {
  std::string key(given);
  std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) {
    return c == ' ' ? '_' : static_cast<char>(std::tolower(c));
  });
  for (const std::string_view spelling : {"cuda", "xpu", "privateuse1"})
    if (const std::size_t at = key.find(spelling); at != std::string::npos)
      key.replace(at, spelling.size(), "device");
  for (const auto& [heading, own] : kHeadings)
    if (key == heading) return std::string(own);
  return key;
}

}  // namespace

std::vector<std::string> operator_sort_keys() {
  std::vector<std::string> keys;
  for (const std::string_view key : kSortKeys) {
    std::string cuda(key);
    const std::size_t at = cuda.find("device");
    if (at != std::string::npos) cuda.replace(at, 6, "cuda");
    keys.push_back(cuda);
  }
  return keys;
}

support::Result<void> sort_operators(std::vector<OperatorRow>& rows, std::string_view key) {
  const std::string own = sort_key_of(key);
  if (std::find(kSortKeys.begin(), kSortKeys.end(), own) == kSortKeys.end()) {
    return support::error(fmt::format(messages::report::kNoSortKey, support::in_quotes(key),
                                      support::did_you_mean(key, operator_sort_keys()),
                                      support::join_with_and(operator_sort_keys())));
  }
  if (own == "cpu_time" || own == "device_time") {
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
      return average(a, own) > average(b, own);
    });
    return {};
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return value(a, own) > value(b, own); });
  return {};
}

support::Result<std::string> operator_text(ProcessReport& a, const OperatorTextOptions& options) {
  std::vector<OperatorRow> rows = group(a.operators.rows, options.grouping, a.stack_table);
  if (!options.sort_by.empty()) GPUPROF_CHECK(sort_operators(rows, options.sort_by));
  GPUPROF_TRY(columns, selected(columns_of(a, rows, options.grouping), options.columns));
  const Totals totals{a.operators.self_cpu_ns, a.operators.self_device_ns};
  const std::string rule =
      line(columns, [](const TextColumn& c) { return std::string(c.width, '-'); });
  std::string text = rule + line(columns, [](const TextColumn& c) { return c.title; }) + rule;
  const bool with_source =
      std::any_of(columns.begin(), columns.end(), [](const TextColumn& c) { return !c.cell; });
  const std::size_t count = std::min(options.row_limit, rows.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& frames = a.stack_table.stacks[rows[i].stack];
    const auto source = [&](std::size_t n, const TextColumn& c) {
      return n < frames.size() ? source_text(a.stack_table.frames[frames[n]].text, c.width) : "";
    };
    text += line(columns, [&](const TextColumn& c) {
      return c.cell ? c.cell(rows[i], totals) : source(0, c);
    });
    if (!with_source) continue;
    for (std::size_t n = 1; n < frames.size(); ++n)
      text += line(columns, [&](const TextColumn& c) { return c.cell ? "" : source(n, c); });
    text += line(columns, [](const TextColumn&) { return ""; });
  }
  text += rule + "Self CPU time total: " + time_text_us(us(totals.cpu_ns)) + '\n';
  const bool with_device =
      std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.self_device_ns > 0; });
  if (with_device) text += "Self CUDA time total: " + time_text_us(us(totals.device_ns)) + '\n';
  return text;
}

}  // namespace gpuprof::report
