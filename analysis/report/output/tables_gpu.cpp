// SPDX-License-Identifier: Apache-2.0
//
// Tables of GPU work and host calls.
//
// Context:  cli
#include <fmt/format.h>

#include "analysis/report/output/table_columns.hpp"
#include "analysis/report/output/tables.hpp"

namespace gpuprof::report {
namespace {

std::string text(const std::array<std::uint32_t, 3>& size) {
  return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

template <typename Row>
std::vector<ColumnFrom<Row>> timed(std::uint64_t all_ns) {
  std::vector<ColumnFrom<Row>> columns;
  add_duration_columns<Row>(columns, all_ns,
                            [](const Row& r) -> const DurationStats& { return r.time; });
  return columns;
}

Cell line_cell(const ProcessReport& a, FrameId line) {
  return line == 0 ? std::string() : a.stack_table.frames[line].location_text();
}

}  // namespace

Table kernel_table(ProcessReport& a, const TableOptions&) {
  using Row = KernelRow;
  auto columns = timed<Row>(a.gpu.kernel_ns);
  columns.push_back({{"grid", "Grid"}, [](const Row& r) -> Cell { return text(r.grid); }});
  columns.push_back({{"block", "Block"}, [](const Row& r) -> Cell { return text(r.block); }});
  columns.push_back({{"registers", "Regs", Unit::kCount, false},
                     [](const Row& r) { return count_cell(r.registers); }});
  columns.push_back({{"shared_bytes", "Shared", Unit::kBytes, false},
                     [](const Row& r) { return count_cell(r.shared_bytes); }});
  columns.push_back({{"blocks_per_sm", "Blocks/SM", Unit::kNumber, false},
                     [](const Row& r) -> Cell { return r.blocks_per_sm; }});
  columns.push_back({{"occupancy_percent", "Occupancy", Unit::kPercent, false},
                     [](const Row& r) -> Cell { return r.occupancy_percent; }});
  columns.push_back({{"tensor_core", "Tensor cores", Unit::kText, false},
                     [](const Row& r) -> Cell { return std::string(r.tensor_core ? "yes" : ""); }});
  columns.push_back(
      {{"device", "GPU", Unit::kCount, false}, [](const Row& r) { return count_cell(r.device); }});
  columns.push_back({{"operator", "Operator"}, [](const Row& r) -> Cell { return r.owner; }});
  columns.push_back(
      {{"line", "Line", Unit::kText, false}, [&a](const Row& r) { return line_cell(a, r.line); }});
  columns.push_back({{"name", "Name"}, [](const Row& r) -> Cell { return r.name; }});
  return make_table<Row>("kernel", a.gpu.kernels, columns);
}

Table kernel_name_table(ProcessReport& a, const TableOptions&) {
  using Row = KernelRow;
  auto columns = timed<Row>(a.gpu.kernel_ns);
  columns.push_back({{"blocks_per_sm", "Blocks/SM", Unit::kNumber, false},
                     [](const Row& r) -> Cell { return r.blocks_per_sm; }});
  columns.push_back({{"occupancy_percent", "Occupancy", Unit::kPercent},
                     [](const Row& r) -> Cell { return r.occupancy_percent; }});
  columns.push_back({{"tensor_core", "Tensor cores"},
                     [](const Row& r) -> Cell { return std::string(r.tensor_core ? "yes" : ""); }});
  columns.push_back({{"name", "Name"}, [](const Row& r) -> Cell { return r.name; }});
  return make_table<Row>("kernel-name", a.gpu.kernel_names, columns);
}

namespace {

Table copies(ProcessReport& a, const char* name, bool sets) {
  using Row = CopyRow;
  std::vector<Row> rows;
  for (const Row& row : a.gpu.copies)
    if (row.is_set == sets) rows.push_back(row);
  auto columns = timed<Row>(sets ? a.gpu.set_ns : a.gpu.copy_ns);
  columns.push_back({{"bytes", "Bytes", Unit::kBytes}, [](const Row& r) -> Cell {
                       return r.bytes == 0 ? Cell(std::monostate()) : count_cell(r.bytes);
                     }});
  columns.push_back({{"gb_per_s", "GB/s", Unit::kNumber}, [](const Row& r) -> Cell {
                       return r.known_ns == 0 ? Cell(std::monostate()) : Cell(r.gigabytes_per_s);
                     }});
  columns.push_back(
      {{"host_ns", "Host", Unit::kNs, false}, [](const Row& r) { return count_cell(r.host_ns); }});
  columns.push_back({{"blocking", "Blocking", Unit::kCount, !sets},
                     [](const Row& r) { return count_cell(r.blocking_calls); }});
  columns.push_back({{"blocked_ns", "Blocked", Unit::kNs, false},
                     [](const Row& r) { return count_cell(r.blocking_ns); }});
  columns.push_back({{"pageable", "Pageable", Unit::kText, false},
                     [](const Row& r) -> Cell { return std::string(r.pageable ? "yes" : ""); }});
  columns.push_back({{"operator", "Operator"}, [](const Row& r) -> Cell { return r.owner; }});
  columns.push_back(
      {{"line", "Line", Unit::kText, false}, [&a](const Row& r) { return line_cell(a, r.line); }});
  columns.push_back({{"name", "Name"}, [](const Row& r) -> Cell { return r.name; }});
  return make_table<Row>(name, rows, columns);
}

}  // namespace

Table memcpy_table(ProcessReport& a, const TableOptions&) { return copies(a, "memcpy", false); }
Table memset_table(ProcessReport& a, const TableOptions&) { return copies(a, "memset", true); }

Table api_table(ProcessReport& a, const TableOptions&) {
  using Row = ApiRow;
  auto columns = timed<Row>(a.gpu.call_ns);
  columns.push_back({{"api", "API"}, [](const Row& r) -> Cell {
                       return std::string(r.driver ? "driver" : "runtime");
                     }});
  columns.push_back({{"waits", "Waits", Unit::kText, false},
                     [](const Row& r) -> Cell { return std::string(r.waits ? "yes" : ""); }});
  columns.push_back({{"failed", "Failed", Unit::kCount, false},
                     [](const Row& r) { return count_cell(r.failed); }});
  columns.push_back({{"name", "Name"}, [](const Row& r) -> Cell { return r.name; }});
  return make_table<Row>("api", a.gpu.calls, columns);
}

Table nvtx_table(ProcessReport& a, const TableOptions&) {
  using Row = RangeRow;
  std::uint64_t all_ns = 0;
  for (const Row& row : a.gpu.ranges) all_ns += row.time.total_ns;
  auto columns = timed<Row>(all_ns);
  columns.push_back({{"self_cpu_ns", "Self CPU", Unit::kNs, false},
                     [](const Row& r) -> Cell { return r.self_cpu_ns; }});
  columns.push_back(
      {{"gpu_ns", "GPU", Unit::kNs}, [](const Row& r) -> Cell { return r.device_ns; }});
  columns.push_back({{"domain", "Domain"}, [](const Row& r) -> Cell { return r.domain; }});
  columns.push_back({{"name", "Name"}, [](const Row& r) -> Cell { return r.name; }});
  return make_table<Row>("nvtx", a.gpu.ranges, columns);
}

namespace {

Cell of_host(const CollectiveRow& row, std::uint64_t value) {
  return row.known_by_kernel_only() ? Cell(std::monostate()) : count_cell(value);
}

}  // namespace

Table nccl_table(ProcessReport& a, const TableOptions&) {
  using Row = CollectiveRow;
  std::uint64_t all_ns = 0;
  for (const Row& row : a.gpu.collectives)
    all_ns += row.device.count != 0 ? row.device.total_ns : row.host.total_ns;
  std::vector<ColumnFrom<Row>> columns;
  // On the GPU line_cell it runs there, else on the host.
  add_duration_columns<Row>(columns, all_ns, [](const Row& r) -> const DurationStats& {
    return r.device.count != 0 ? r.device : r.host;
  });
  columns.push_back(
      {{"calls", "Calls", Unit::kCount}, [](const Row& r) { return of_host(r, r.host.count); }});
  columns.push_back({{"host_ns", "Host", Unit::kNs, false},
                     [](const Row& r) { return of_host(r, r.host.total_ns); }});
  columns.push_back(
      {{"bytes", "Bytes", Unit::kBytes}, [](const Row& r) { return of_host(r, r.bytes); }});
  columns.push_back({{"dtype", "Type"}, [](const Row& r) -> Cell { return r.dtype; }});
  columns.push_back({{"group", "Group"}, [](const Row& r) -> Cell { return r.group; }});
  columns.push_back({{"name", "Name"}, [](const Row& r) -> Cell { return r.name; }});
  return make_table<Row>("nccl", a.gpu.collectives, columns);
}

Table sync_table(ProcessReport& a, const TableOptions&) {
  using Row = GpuWaitRow;
  auto columns = timed<Row>(a.gpu.wait_ns);
  columns.push_back(
      {{"steps", "Steps", Unit::kCount}, [](const Row& r) { return count_cell(r.steps); }});
  columns.push_back({{"operator", "Operator"},
                     [](const Row& r) -> Cell { return r.outer.empty() ? r.owner : r.outer; }});
  columns.push_back(
      {{"inner", "Inner", Unit::kText, false}, [](const Row& r) -> Cell { return r.owner; }});
  columns.push_back({{"name", "Call"}, [](const Row& r) -> Cell { return r.call; }});
  columns.push_back({{"line", "Line"}, [&a](const Row& r) { return line_cell(a, r.line); }});
  return make_table<Row>("sync", a.gpu.waits, columns);
}

Table gpu_table(ProcessReport& a, const TableOptions&) {
  using Row = GpuSummary;
  std::vector<ColumnFrom<Row>> columns;
  const auto percent = [&](const char* key, const char* title, auto value) {
    columns.push_back(
        {{key, title, Unit::kPercent}, [value](const Row& r) -> Cell { return value(r); }});
  };
  columns.push_back(
      {{"device", "GPU", Unit::kCount}, [](const Row& r) { return count_cell(r.device); }});
  percent("utilisation_percent", "Busy", [](const Row& r) { return r.utilisation * 100; });
  percent("sm_efficiency_percent", "SM eff.", [](const Row& r) { return r.sm_efficiency * 100; });
  percent("occupancy_percent", "Occupancy", [](const Row& r) { return r.occupancy_percent; });
  percent("tensor_core_percent", "Tensor cores",
          [](const Row& r) { return r.tensor_core_share * 100; });
  columns.push_back(
      {{"kernels", "Kernels", Unit::kCount}, [](const Row& r) { return count_cell(r.kernels); }});
  columns.push_back({{"kernel_ns", "Kernel time", Unit::kNs},
                     [](const Row& r) { return count_cell(r.kernel_ns); }});
  columns.push_back({{"busy_ns", "Busy time", Unit::kNs, false},
                     [](const Row& r) { return count_cell(r.busy_ns); }});
  columns.push_back({{"peak_allocated_bytes", "Peak alloc.", Unit::kBytes},
                     [](const Row& r) { return count_cell(r.peak_allocated_bytes); }});
  columns.push_back({{"peak_reserved_bytes", "Peak reserved", Unit::kBytes, false},
                     [](const Row& r) { return count_cell(r.peak_reserved_bytes); }});
  columns.push_back({{"memory_bytes", "Memory", Unit::kBytes},
                     [](const Row& r) { return count_cell(r.memory_bytes); }});
  columns.push_back({{"capability", "Capability", Unit::kText}, [](const Row& r) -> Cell {
                       return fmt::format("{}.{}", r.compute_major, r.compute_minor);
                     }});
  columns.push_back({{"name", "Name"}, [](const Row& r) -> Cell { return r.name; }});
  return make_table<Row>("gpu", a.steps.gpus, columns);
}

}  // namespace gpuprof::report
