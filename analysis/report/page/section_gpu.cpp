// SPDX-License-Identifier: Apache-2.0
//
// Tables of kernels, copies, CUDA calls, waits and ranges.
//
// Context:  cli
#include <fmt/format.h>

#include <array>

#include "analysis/report/page/sections.hpp"

namespace gpuprof::report::page {
namespace {

std::string shape(const std::array<std::uint32_t, 3>& of) {
  return fmt::format("[{}, {}, {}]", of[0], of[1], of[2]);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

void spread(Json& json, const Spread& time) {
  json.number(time.count).us(time.total_ns).us(time.mean_ns).us(time.p50_ns).us(time.p95_ns);
  json.us(time.max_ns);
}

void write_kernels(Part& part) {
  static constexpr std::array kColumns{Column{"name", "Kernel", "name"},
                                       Column{"operator", "Launched by", "name"},
                                       Column{"line", "Line", "name"},
                                       Column{"count", "Count", "count"},
                                       Column{"total", "Total", "us"},
                                       Column{"mean", "Mean", "us"},
                                       Column{"p50", "Median", "us"},
                                       Column{"p95", "95th", "us"},
                                       Column{"max", "Longest", "us"},
                                       Column{"share", "Share", "share"},
                                       Column{"tensor", "Tensor cores", "text"},
                                       Column{"grid", "Grid", "text"},
                                       Column{"block", "Block", "text"},
                                       Column{"blocks_per_sm", "Blocks per SM", "number"},
                                       Column{"occupancy", "Occupancy", "percent"},
                                       Column{"device", "GPU", "number"}};
  const GpuTables& gpu = part.analysis.gpu;
  write_table(
      part, "kernels", "Kernels", kColumns, "total",
      "Kernels of one name and shape, launched by one operator. Tensor cores: told by the name.",
      gpu.kernels, [&part, &gpu](const KernelRow& row) {
        Json& json = part.json;
        json.text(row.name).text(row.owner).text(place_of(part.analysis, row.line));
        spread(json, row.time);
        json.number(share(row.time.total_ns, gpu.kernel_ns));
        json.text(row.tensor_core ? "yes" : "no").text(shape(row.grid)).text(shape(row.block));
        json.number(row.blocks_per_sm).number(row.occupancy_percent / 100).number(row.device);
      });
}

void write_copies(Part& part) {
  static constexpr std::array kColumns{Column{"name", "Copy or set", "name"},
                                       Column{"operator", "Asked for by", "name"},
                                       Column{"line", "Line", "name"},
                                       Column{"count", "Count", "count"},
                                       Column{"total", "GPU time", "us"},
                                       Column{"mean", "Mean", "us"},
                                       Column{"p50", "Median", "us"},
                                       Column{"p95", "95th", "us"},
                                       Column{"max", "Longest", "us"},
                                       Column{"bytes", "Bytes", "bytes"},
                                       Column{"rate", "GB/s", "number"},
                                       Column{"host", "In calls on the host", "us"},
                                       Column{"blocking", "Blocking calls", "count"}};
  write_table(part, "copies", "Copies and sets of memory", kColumns, "total", "",
              part.analysis.gpu.copies, [&part](const CopyRow& row) {
                Json& json = part.json;
                json.text(row.name).text(row.owner).text(place_of(part.analysis, row.line));
                spread(json, row.time);
                row.bytes == 0 ? json.null() : json.number(row.bytes);
                row.known_ns == 0 ? json.null() : json.number(row.gigabytes_per_s);
                json.us(row.host_ns);
                json.number(row.blocking);
              });
}

void write_calls(Part& part) {
  static constexpr std::array kColumns{
      Column{"name", "CUDA call", "name"}, Column{"api", "Of", "text"},
      Column{"count", "Count", "count"},   Column{"total", "Total", "us"},
      Column{"mean", "Mean", "us"},        Column{"p50", "Median", "us"},
      Column{"p95", "95th", "us"},         Column{"max", "Longest", "us"},
      Column{"failed", "Failed", "count"}};
  write_table(part, "calls", "CUDA calls", kColumns, "total", "", part.analysis.gpu.calls,
              [&part](const ApiRow& row) {
                part.json.text(row.name).text(row.driver ? "driver" : "runtime");
                spread(part.json, row.time);
                part.json.number(row.failed);
              });
}

void write_waits(Part& part) {
  static constexpr std::array kColumns{Column{"line", "Line", "name"},
                                       Column{"call", "Call that waited", "name"},
                                       Column{"operator", "In operator", "name"},
                                       Column{"count", "Count", "count"},
                                       Column{"total", "Total", "us"},
                                       Column{"mean", "Mean", "us"},
                                       Column{"p50", "Median", "us"},
                                       Column{"p95", "95th", "us"},
                                       Column{"max", "Longest", "us"},
                                       Column{"steps", "Steps with it", "count"}};
  write_table(part, "waits", "Where the host waited for a GPU", kColumns, "total", "",
              part.analysis.gpu.waits, [&part](const WaitRow& row) {
                part.json.text(place_of(part.analysis, row.line)).text(row.call);
                part.json.text(row.outer.empty() ? row.owner : row.outer);
                spread(part.json, row.time);
                part.json.number(row.steps);
              });
}

}  // namespace

void write_gpu_work(Part& part) {
  part.json.array();
  write_kernels(part);
  write_copies(part);
  write_calls(part);
  write_waits(part);
  part.json.end_array();
}

}  // namespace gpuprof::report::page
