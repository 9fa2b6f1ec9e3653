// SPDX-License-Identifier: Apache-2.0
//
// Tables of kernels, copies, CUDA calls, waits and ranges.
//
// Context:  cli
#include <fmt/format.h>

#include <array>

#include "analysis/messages/page_views.hpp"
#include "analysis/report/page/sections.hpp"

namespace gpuprof::report::page {
namespace {

std::string shape(const std::array<std::uint32_t, 3>& of) {
  return fmt::format("[{}, {}, {}]", of[0], of[1], of[2]);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

void spread(PageJson& json, const DurationStats& time) {
  json.number(time.count).us(time.total_ns).us(time.mean_ns).us(time.p50_ns).us(time.p95_ns);
  json.us(time.max_ns);
}

void write_kernels(SectionContext& part) {
  static constexpr std::array kColumns{PageColumn{"name", "Kernel", "name"},
                                       PageColumn{"operator", "Launched by", "name"},
                                       PageColumn{"line", "Line", "name"},
                                       PageColumn{"count", "Count", "count"},
                                       PageColumn{"total", "Total", "us"},
                                       PageColumn{"mean", "Mean", "us"},
                                       PageColumn{"p50", "Median", "us"},
                                       PageColumn{"p95", "95th", "us"},
                                       PageColumn{"max", "Longest", "us"},
                                       PageColumn{"share", "Share", "share"},
                                       PageColumn{"tensor", "Tensor cores", "text"},
                                       PageColumn{"grid", "Grid", "text"},
                                       PageColumn{"block", "Block", "text"},
                                       PageColumn{"blocks_per_sm", "Blocks per SM", "number"},
                                       PageColumn{"occupancy", "Occupancy", "percent"},
                                       PageColumn{"device", "GPU", "number"}};
  const GpuTables& gpu = part.analysis.gpu;
  write_table(
      part, "kernels", "Kernels", kColumns, "total", messages::page_views::kKernels, gpu.kernels,
      [&part, &gpu](const KernelRow& row) {
        PageJson& json = part.json;
        json.text(row.name).text(row.owner).text(place_of(part.analysis, row.line));
        spread(json, row.time);
        json.number(share(row.time.total_ns, gpu.kernel_ns));
        json.text(row.tensor_core ? "yes" : "no").text(shape(row.grid)).text(shape(row.block));
        json.number(row.blocks_per_sm).number(row.occupancy_percent / 100).number(row.device);
      });
}

void write_copies(SectionContext& part) {
  static constexpr std::array kColumns{PageColumn{"name", "Copy or set", "name"},
                                       PageColumn{"operator", "Launched by", "name"},
                                       PageColumn{"line", "Line", "name"},
                                       PageColumn{"count", "Count", "count"},
                                       PageColumn{"total", "GPU time", "us"},
                                       PageColumn{"mean", "Mean", "us"},
                                       PageColumn{"p50", "Median", "us"},
                                       PageColumn{"p95", "95th", "us"},
                                       PageColumn{"max", "Longest", "us"},
                                       PageColumn{"bytes", "Bytes", "bytes"},
                                       PageColumn{"rate", "GB/s", "number"},
                                       PageColumn{"host", "Host time", "us"},
                                       PageColumn{"blocking", "Blocking calls", "count"}};
  write_table(part, "copies", "Memory copies and sets", kColumns, "total", "",
              part.analysis.gpu.copies, [&part](const CopyRow& row) {
                PageJson& json = part.json;
                json.text(row.name).text(row.owner).text(place_of(part.analysis, row.line));
                spread(json, row.time);
                row.bytes == 0 ? json.null() : json.number(row.bytes);
                row.known_ns == 0 ? json.null() : json.number(row.gigabytes_per_s);
                json.us(row.host_ns);
                json.number(row.blocking_calls);
              });
}

void write_calls(SectionContext& part) {
  static constexpr std::array kColumns{
      PageColumn{"name", "CUDA call", "name"}, PageColumn{"api", "API", "text"},
      PageColumn{"count", "Count", "count"},   PageColumn{"total", "Total", "us"},
      PageColumn{"mean", "Mean", "us"},        PageColumn{"p50", "Median", "us"},
      PageColumn{"p95", "95th", "us"},         PageColumn{"max", "Longest", "us"},
      PageColumn{"failed", "Failed", "count"}};
  write_table(part, "calls", "CUDA calls", kColumns, "total", "", part.analysis.gpu.calls,
              [&part](const ApiRow& row) {
                part.json.text(row.name).text(row.driver ? "driver" : "runtime");
                spread(part.json, row.time);
                part.json.number(row.failed);
              });
}

void write_waits(SectionContext& part) {
  static constexpr std::array kColumns{
      PageColumn{"line", "Line", "name"},         PageColumn{"call", "CUDA call", "name"},
      PageColumn{"operator", "Operator", "name"}, PageColumn{"count", "Count", "count"},
      PageColumn{"total", "Total", "us"},         PageColumn{"mean", "Mean", "us"},
      PageColumn{"p50", "Median", "us"},          PageColumn{"p95", "95th", "us"},
      PageColumn{"max", "Longest", "us"},         PageColumn{"steps", "Steps", "count"}};
  write_table(part, "waits", "Waits for a GPU", kColumns, "total", "", part.analysis.gpu.waits,
              [&part](const GpuWaitRow& row) {
                part.json.text(place_of(part.analysis, row.line)).text(row.call);
                part.json.text(row.outer.empty() ? row.owner : row.outer);
                spread(part.json, row.time);
                part.json.number(row.steps);
              });
}

}  // namespace

void write_gpu_work(SectionContext& part) {
  part.json.array();
  write_kernels(part);
  write_copies(part);
  write_calls(part);
  write_waits(part);
  part.json.end_array();
}

}  // namespace gpuprof::report::page
