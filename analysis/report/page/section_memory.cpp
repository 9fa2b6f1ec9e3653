// SPDX-License-Identifier: Apache-2.0
//
// Memory and modules for the page.
//
// Context:  cli
#include <fmt/format.h>

#include <array>

#include "analysis/messages/page.hpp"
#include "analysis/messages/page_views.hpp"
#include "analysis/report/page/sections.hpp"

namespace gpuprof::report::page {
namespace {

/// Since the recording began; what is older: 0.
std::uint64_t since(const SectionContext& part, std::uint64_t ns) {
  return ns > part.analysis.meta.start_ns ? ns - part.analysis.meta.start_ns : 0;
}

void write_curve(SectionContext& part, const DeviceMemory& memory) {
  PageJson& json = part.json;
  json.key("curve").object().key("ts_us").array();
  for (const MemoryPoint& point : memory.curve) json.us(since(part, point.ts_ns));
  json.end_array().key("allocated").array();
  for (const MemoryPoint& point : memory.curve) json.number(point.allocated_bytes);
  json.end_array().key("reserved").array();
  for (const MemoryPoint& point : memory.curve) json.number(point.reserved_bytes);
  json.end_array().end_object();
}

void write_blocks(SectionContext& part, const DeviceMemory& memory) {
  static constexpr std::array kColumns{
      PageColumn{"operator", "Allocated in", "name"}, PageColumn{"line", "Line", "name"},
      PageColumn{"bytes", "Bytes", "bytes"}, PageColumn{"since", "Allocated at", "us"}};
  write_table(
      part, "at_peak", "Largest blocks at the peak", kColumns, "bytes", "", memory.at_peak,
      [&part](const LiveBlock& row) {
        part.json.text(row.owner.empty() ? messages::page_views::kNoOperatorOrEarlier : row.owner);
        part.json.text(place_of(part.analysis, row.line)).number(row.bytes);
        part.json.us(since(part, row.since_ns));
      });
}

void write_churn(SectionContext& part, const DeviceMemory& memory) {
  static constexpr std::array kColumns{
      PageColumn{"operator", "Allocated in", "name"}, PageColumn{"line", "Line", "name"},
      PageColumn{"allocations", "Allocations", "count"}, PageColumn{"bytes", "Bytes", "bytes"},
      PageColumn{"freed_in_step", "Freed in the same step", "count"}};
  write_table(part, "churn", "Allocations by operator", kColumns, "bytes", "", memory.churn,
              [&part](const ChurnRow& row) {
                part.json.text(row.owner.empty() ? "(no operator)" : row.owner);
                part.json.text(place_of(part.analysis, row.line)).number(row.allocations);
                part.json.number(row.bytes).number(row.freed_in_step);
              });
}

void write_device(SectionContext& part, const DeviceMemory& memory) {
  PageJson& json = part.json;
  const std::string title =
      memory.device < 0 ? "Memory of the host" : fmt::format("Memory of GPU {}", memory.device);
  json.object().key("title").text(title).key("device").number(memory.device);
  json.key("peak_allocated").number(memory.peak_allocated_bytes);
  json.key("peak_reserved").number(memory.peak_reserved_bytes).key("facts").array();
  json.fact("Peak allocated", memory.peak_allocated_bytes, "bytes");
  if (memory.peak_ns != 0)
    json.us_fact("Time of the peak", static_cast<double>(since(part, memory.peak_ns)));
  if (memory.peak_reserved_bytes > 0)
    json.fact("Peak reserved", memory.peak_reserved_bytes, "bytes");
  json.fact("Allocations", memory.allocations, "count").fact("Frees", memory.frees, "count");
  json.fact("Total allocated", memory.allocated_bytes, "bytes").end_array();
  write_curve(part, memory);
  json.key("tables").array();
  write_blocks(part, memory);
  write_churn(part, memory);
  json.end_array().end_object();
}

}  // namespace

void write_memory(SectionContext& part) {
  part.json.array();
  for (const DeviceMemory& memory : part.analysis.memory.devices)
    if (memory.allocations > 0 || memory.peak_allocated_bytes > 0) write_device(part, memory);
  part.json.end_array();
}

void write_modules(SectionContext& part) {
  static constexpr std::array kColumns{
      PageColumn{"calls", "Calls", "count"}, PageColumn{"operators", "Operators", "count"},
      PageColumn{"host", "Host time", "us"}, PageColumn{"self_host", "Host self time", "us"},
      PageColumn{"gpu", "GPU time", "us"},   PageColumn{"self_gpu", "GPU self time", "us"}};
  const std::vector<ModuleRow>& rows = part.analysis.host.modules;
  const std::size_t shown = std::min(rows.size(), part.limits.rows);
  PageJson& json = part.json;
  json.object().key("note").text(messages::page_views::kModules);
  json.key("columns").array();
  for (const PageColumn& c : kColumns)
    json.object()
        .key("key")
        .text(c.key)
        .key("title")
        .text(c.title)
        .key("unit")
        .text(c.unit)
        .end_object();
  json.end_array().key("rows").array();
  for (std::size_t i = 0; i < shown; ++i) {
    const ModuleRow& row = rows[i];
    json.object().key("name").text(row.name).key("path").text(row.path).key("parent").number(
        row.parent);
    json.key("values").array().number(row.calls).number(row.operators).us(row.host_ns);
    json.us(row.self_host_ns).us(row.device_ns).us(row.self_device_ns).end_array().end_object();
  }
  json.end_array().end_object();
  if (rows.size() > shown)
    part.left_out.push_back(
        fmt::format(messages::page::kModulesLeftOut, rows.size() - shown, rows.size()));
}

}  // namespace gpuprof::report::page
