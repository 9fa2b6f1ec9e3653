// SPDX-License-Identifier: Apache-2.0
//
// Tables of operators, ranges and lines of the program.
//
// Context:  cli
#include <array>
#include <utility>

#include "analysis/messages/page_views.hpp"
#include "analysis/report/page/sections.hpp"

namespace gpuprof::report::page {
namespace {

bool on_host(const OperatorRow& row) {
  return row.kind == OperatorKind::kOperator || row.kind == OperatorKind::kAnnotation;
}

std::vector<OperatorRow> sorted_rows(const ProcessReport& analysis, bool by_shape) {
  StackTable places = analysis.stack_table;
  std::vector<OperatorRow> rows = group(analysis.operators.rows, {by_shape, 0}, places);
  std::erase_if(rows, [](const OperatorRow& row) { return !on_host(row); });
  std::stable_sort(rows.begin(), rows.end(), [](const OperatorRow& a, const OperatorRow& b) {
    return std::pair(a.self_cpu_ns + a.self_device_ns, b.order) >
           std::pair(b.self_cpu_ns + b.self_device_ns, a.order);
  });
  return rows;
}

/// Columns of a table of operators, and what stands in them.
class OperatorTable {
 public:
  OperatorTable(SectionContext& part, bool by_shape) : part_(part), by_shape_(by_shape) {
    columns_ = {{"name", "Operator", "name"}};
    if (by_shape) columns_.push_back({"shapes", "Input shapes", "name"});
    columns_.insert(columns_.end(), {{"kind", "Kind", "text"},
                                     {"count", "Calls", "count"},
                                     {"self_cpu", "Self CPU", "us"},
                                     {"self_cpu_share", "Self CPU share", "share"},
                                     {"cpu", "CPU total", "us"},
                                     {"cpu_mean", "CPU mean", "us"}});
    gpu_ = part.analysis.has_gpu();
    if (gpu_)
      columns_.insert(columns_.end(), {{"self_gpu", "Self GPU", "us"}, {"gpu", "GPU total", "us"}});
    memory_ = part.analysis.operators.has_memory;
    if (memory_)
      columns_.insert(columns_.end(), {{"self_cpu_bytes", "Self CPU memory", "bytes"},
                                       {"self_gpu_bytes", "Self GPU memory", "bytes"}});
  }

  void write(std::string_view key, std::string_view title, const std::vector<OperatorRow>& rows) {
    write_table(part_, key, title, columns_, gpu_ ? "self_gpu" : "self_cpu",
                messages::page_views::kOperators, rows,
                [this](const OperatorRow& row) { cells(row); });
  }

 private:
  void cells(const OperatorRow& row) {
    PageJson& json = part_.json;
    json.text(row.name);
    if (by_shape_) json.text(row.shapes);
    json.text(row.kind == OperatorKind::kAnnotation ? "range" : "operator").number(row.count);
    json.us(row.self_cpu_ns);
    const std::int64_t all = part_.analysis.operators.self_cpu_ns;
    json.number(all > 0 ? static_cast<double>(row.self_cpu_ns) / static_cast<double>(all) : 0.0);
    json.us(row.cpu_ns);
    json.us(row.count > 0 ? static_cast<double>(row.cpu_ns) / static_cast<double>(row.count) : 0.0);
    if (gpu_) json.us(row.self_device_ns).us(row.device_ns);
    if (memory_) json.number(row.self_cpu_bytes).number(row.self_device_bytes);
  }

  SectionContext& part_;
  bool by_shape_, gpu_ = false, memory_ = false;
  std::vector<PageColumn> columns_;
};

void write_lines(SectionContext& part) {
  static constexpr std::array kColumns{PageColumn{"line", "Line", "name"},
                                       PageColumn{"function", "Function", "name"},
                                       PageColumn{"samples", "On-CPU samples", "count"},
                                       PageColumn{"cpu", "CPU time (samples)", "us"},
                                       PageColumn{"waiting", "Off-CPU time (samples)", "us"},
                                       PageColumn{"operators", "Operators", "count"},
                                       PageColumn{"operator_time", "Operator time", "us"},
                                       PageColumn{"gpu", "Launched GPU time", "us"},
                                       PageColumn{"wait", "Waits for a GPU", "us"}};
  write_table(part, "lines", "Lines of the program", kColumns, "", messages::page_views::kLines,
              part.analysis.host.lines, [&part](const LineRow& row) {
                const LineCosts& costs = row.costs;
                part.json.text(place_of(part.analysis, row.frame))
                    .text(part.analysis.stack_table.frames[row.frame].name);
                part.json.number(costs.samples).us(costs.cpu_ns).us(costs.blocked_ns);
                part.json.number(costs.operators).us(costs.operator_ns).us(costs.gpu_ns);
                part.json.us(costs.wait_ns);
              });
}

void write_threads(SectionContext& part) {
  static constexpr std::array kColumns{PageColumn{"thread", "Thread", "text"},
                                       PageColumn{"tid", "Thread id", "number"},
                                       PageColumn{"samples", "On-CPU samples", "count"},
                                       PageColumn{"blocked", "Off-CPU samples", "count"},
                                       PageColumn{"cpu", "CPU time (samples)", "us"},
                                       PageColumn{"operators", "Operators", "count"},
                                       PageColumn{"operator_time", "Operator time", "us"},
                                       PageColumn{"calls", "CUDA calls", "count"},
                                       PageColumn{"call_time", "Time in CUDA calls", "us"}};
  write_table(part, "threads", "Threads", kColumns, "", "", part.analysis.host.threads,
              [&part](const ThreadRow& row) {
                part.json.text(row.name.empty() ? "(no name)" : row.name).number(row.tid);
                part.json.number(row.samples).number(row.off_cpu_samples).us(row.cpu_ns);
                part.json.number(row.operators).us(row.operator_ns);
                part.json.number(row.calls).us(row.call_ns);
              });
}

}  // namespace

std::string place_of(const ProcessReport& analysis, FrameId frame) {
  return frame == 0 || frame >= analysis.stack_table.frames.size()
             ? std::string()
             : analysis.stack_table.frames[frame].location_text();
}

void write_operators(SectionContext& part) {
  part.json.array();
  OperatorTable(part, false).write("operators", "Operators", sorted_rows(part.analysis, false));
  if (part.analysis.operators.has_shapes)
    OperatorTable(part, true)
        .write("operators_by_shape", "Operators by input shapes", sorted_rows(part.analysis, true));
  write_lines(part);
  write_threads(part);
  part.json.end_array();
}

}  // namespace gpuprof::report::page
