// SPDX-License-Identifier: Apache-2.0
//
// CSV and JSON.
//
// Context:  cli
#include "analysis/report/output/table_csv_json.hpp"

#include <fmt/format.h>

#include "analysis/report/advice/advice_text.hpp"
#include "analysis/report/output/tables.hpp"
#include "support/text/csv.hpp"
#include "support/text/json.hpp"

namespace gpuprof::report {
namespace {

std::string format_csv(const Cell& cell) {
  std::string room;
  if (const auto* text = std::get_if<std::string>(&cell))
    return std::string(support::escape_csv_cell(*text, room));
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (std::holds_alternative<std::monostate>(cell)) return "";
  return fmt::format("{:.6g}", std::get<double>(cell));
}

void write_cell(support::JsonWriter& json, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell))
    json.value(std::string_view(*text));
  else if (const auto* whole = std::get_if<std::int64_t>(&cell))
    json.value(*whole);
  else if (std::holds_alternative<std::monostate>(cell))
    json.null();
  else
    json.value(std::get<double>(cell));
}

void write_rows(support::JsonWriter& json, const Table& table) {
  json.begin_array();
  for (const auto& row : table.rows) {
    json.begin_object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      json.key(table.columns[i].key);
      write_cell(json, row[i]);
    }
    json.end_object();
  }
  json.end_array();
}

void write_counts(support::JsonWriter& json, std::string_view key,
                  const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  json.key(key).begin_object();
  for (const auto& [name, count] : counts) json.member(name, count);
  json.end_object();
}

void write_meta(support::JsonWriter& json, const Meta& meta) {
  json.member("host", std::string_view(meta.host));
  json.member("program", std::string_view(meta.program));
  json.member("command", std::string_view(meta.command));
  json.member("pid", std::uint64_t{meta.pid});
  if (meta.rank >= 0) json.member("rank", meta.rank);
  json.member("simulated", meta.simulated);
  json.member("duration_ns", meta.recorded_ns);
  write_counts(json, "events", meta.events);
  write_counts(json, "drops", meta.drops);
  json.key("windows").begin_array();
  for (const WindowMeta& window : meta.windows) {
    json.begin_object();
    json.member("index", std::uint64_t{window.index});
    json.member("duration_ns", window.end_ns - window.start_ns);
    json.member("start_real_ns", window.start_real_ns);
    json.member("why", std::string_view(window.reason));
    json.end_object();
  }
  json.end_array();
  json.key("facts").begin_object();
  for (const auto& [key, value] : meta.facts) json.member(key, std::string_view(value));
  json.end_object();
  json.member("missing", meta.missing);
  json.member("notices", meta.notices);
}

void write_steps(support::JsonWriter& json, const Steps& steps) {
  json.key("step_summary").begin_object();
  json.member("steps", std::uint64_t{steps.steps.size()});
  json.member("kept", std::uint64_t{steps.counted});
  json.member("made_up", steps.is_synthetic);
  json.member("warm_up", std::uint64_t{steps.warm_up});
  json.member("source", std::string_view(steps.source));
  json.member("mean_ns", steps.length.mean_ns);
  json.member("p50_ns", steps.length.p50_ns);
  json.member("p90_ns", steps.length.p90_ns);
  json.member("p95_ns", steps.length.p95_ns);
  json.member("p99_ns", steps.length.p99_ns);
  json.member("stddev_ns", steps.length.stddev_ns);
  json.key("mean_by_category_ns").begin_object();
  for (std::size_t i = 0; i < steps.mean_ns.size(); ++i)
    json.member(name_of(static_cast<Category>(i)), steps.mean_ns[i]);
  json.end_object().end_object();
}

void write_memory(support::JsonWriter& json, const ProcessReport& a) {
  json.key("memory_devices").begin_array();
  for (const DeviceMemory& device : a.memory.devices) {
    json.begin_object();
    json.member("device", std::int64_t{device.device});
    json.member("peak_allocated_bytes", device.peak_allocated_bytes);
    json.member("peak_reserved_bytes", device.peak_reserved_bytes);
    json.key("peak_at_ns");
    device.peak_ns == 0 ? json.null() : json.value(device.peak_ns - a.meta.start_ns);
    json.member("allocations", device.allocations);
    json.member("allocated_bytes", device.allocated_bytes);
    json.key("largest_at_peak").begin_array();
    for (const LiveBlock& block : device.at_peak) {
      json.begin_object();
      json.member("bytes", block.bytes);
      json.member("operator", std::string_view(block.owner));
      const std::string line =
          block.line == 0 ? "" : a.stack_table.frames[block.line].location_text();
      json.member("line", std::string_view(line));
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

std::string format_csv(const std::vector<ProcessTable>& tables) {
  if (tables.empty()) return "";
  const bool several = tables.size() > 1;
  std::string text = several ? "rank,pid" : "";
  for (const Column& column : tables[0].table.columns)
    text += (text.empty() ? "" : ",") + format_csv(Cell(column.key));
  text += "\r\n";
  for (const ProcessTable& process : tables) {
    for (const auto& row : process.table.rows) {
      std::string line = several ? (process.rank < 0 ? "" : std::to_string(process.rank)) + "," +
                                       std::to_string(process.pid)
                                 : "";
      for (std::size_t i = 0; i < row.size(); ++i)
        line += (i == 0 && !several ? "" : ",") + format_csv(row[i]);
      text += line + "\r\n";
    }
  }
  return text;
}

std::string format_json(const std::vector<ProcessTable>& tables, const Report& report) {
  support::JsonWriter json;
  json.begin_object();
  json.member("by", std::string_view(tables.empty() ? "" : tables[0].table.name));
  json.member("simulated", report.simulated);
  if (!report.import_summary.files.empty())
    write_import_summary(json.key("reading"), report.import_summary);
  json.key("processes").begin_array();
  for (const ProcessTable& process : tables) {
    json.begin_object();
    json.member("pid", std::uint64_t{process.pid});
    if (process.rank >= 0) json.member("rank", process.rank);
    json.key("rows");
    write_rows(json, process.table);
    json.end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

std::string format_json(Report& report, const Grouping& grouping) {
  support::JsonWriter json;
  json.begin_object();
  json.member("simulated", report.simulated);
  json.member("missing", report.missing);
  if (!report.import_summary.files.empty())
    write_import_summary(json.key("reading"), report.import_summary);
  json.key("advice");
  advice::write_advice(advice::run_rules(report), json);
  json.key("processes").begin_array();
  for (ProcessReport& process : report.processes) {
    json.begin_object();
    write_meta(json, process.meta);
    write_steps(json, process.steps);
    write_memory(json, process);
    json.key("tables").begin_object();
    for (const TableKind& kind : table_kinds()) {
      json.key(kind.name);
      write_rows(json, kind.make(process, {grouping}));
    }
    json.end_object().end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace gpuprof::report
