// SPDX-License-Identifier: Apache-2.0
//
// Tables of operators, threads, modules, lines, steps and memory.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/output/columns.hpp"
#include "analysis/report/output/tables.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report {
namespace {

std::string line_text(const ProcessReport& a, FrameId line) {
  return line == 0 ? "(unknown)" : a.stack_table.frames[line].location_text();
}

std::string stack_text(const ProcessReport& a, StackRef stack) {
  std::vector<std::string> frames;
  for (const FrameId frame : a.stack_table.stacks[stack])
    frames.push_back(a.stack_table.frames[frame].text);
  return support::join(frames, ";");
}

}  // namespace

Table operator_table(ProcessReport& a, const TableOptions& options) {
  using R = OperatorRow;
  std::vector<R> rows = group(a.operators.rows, options.grouping, a.stack_table);
  if (!options.with_overhead)
    std::erase_if(rows, [](const R& r) { return r.kind == OperatorKind::kOverhead; });
  Columns<R> c;
  c.add("name", "Name", Unit::kText, [](const R& r) { return r.name; })
      .add("on_device", "On GPU", Unit::kText,
           [](const R& r) { return r.on_device() ? "yes" : ""; })
      .add("self_cpu_time_total_ns", "Self CPU", Unit::kNs,
           [](const R& r) { return r.self_cpu_ns; })
      .add("cpu_time_total_ns", "CPU total", Unit::kNs, [](const R& r) { return r.cpu_ns; })
      .add("self_device_time_total_ns", "Self CUDA", Unit::kNs,
           [](const R& r) { return r.self_device_ns; })
      .add("device_time_total_ns", "CUDA total", Unit::kNs, [](const R& r) { return r.device_ns; })
      .add("cpu_memory_usage_bytes", "CPU Mem", Unit::kBytes,
           [](const R& r) { return r.cpu_bytes; })
      .add("self_cpu_memory_usage_bytes", "Self CPU Mem", Unit::kBytes,
           [](const R& r) { return r.self_cpu_bytes; })
      .add("device_memory_usage_bytes", "CUDA Mem", Unit::kBytes,
           [](const R& r) { return r.device_bytes; })
      .add("self_device_memory_usage_bytes", "Self CUDA Mem", Unit::kBytes,
           [](const R& r) { return r.self_device_bytes; })
      .add("count", "# of Calls", Unit::kCount, [](const R& r) { return r.count; });
  if (options.grouping.by_shape)
    c.add("input_shapes", "Input Shapes", Unit::kText, [](const R& r) { return r.shapes; });
  if (options.grouping.by_stack != 0)
    c.add("stack", "Source Location", Unit::kText,
          [&a](const R& r) { return stack_text(a, r.stack); });
  return make_table<R>("operator", rows, c.all());
}

Table thread_table(ProcessReport& a, const TableOptions&) {
  using R = ThreadRow;
  Columns<R> c;
  c.add("tid", "Thread", Unit::kCount, [](const R& r) { return r.tid; })
      .add("main", "Main", Unit::kText, [](const R& r) { return r.main ? "yes" : ""; })
      .add("samples", "Samples", Unit::kCount, [](const R& r) { return r.samples; })
      .add("cpu_ns", "CPU", Unit::kNs, [](const R& r) { return r.cpu_ns; })
      .add("blocked_samples", "Waiting", Unit::kCount, [](const R& r) { return r.off_cpu_samples; })
      .add("blocked_ns", "Waited", Unit::kNs, [](const R& r) { return r.blocked_ns; })
      .add("operators", "Operators", Unit::kCount, [](const R& r) { return r.operators; })
      .add("operator_ns", "In operators", Unit::kNs, [](const R& r) { return r.operator_ns; })
      .add(
          "calls", "CUDA calls", Unit::kCount, [](const R& r) { return r.calls; }, a.has_gpu())
      .add(
          "call_ns", "In CUDA calls", Unit::kNs, [](const R& r) { return r.call_ns; }, a.has_gpu())
      .add("name", "Name", Unit::kText, [](const R& r) { return r.name; });
  return make_table<R>("thread", a.host.threads, c.all());
}

Table module_table(ProcessReport& a, const TableOptions&) {
  using R = ModuleRow;
  Columns<R> c;
  c.add("calls", "Calls", Unit::kCount, [](const R& r) { return r.calls; })
      .add("operators", "Operators", Unit::kCount, [](const R& r) { return r.operators; })
      .add("host_ns", "Host total", Unit::kNs, [](const R& r) { return r.host_ns; })
      .add("self_host_ns", "Host self", Unit::kNs, [](const R& r) { return r.self_host_ns; })
      .add(
          "device_ns", "GPU total", Unit::kNs, [](const R& r) { return r.device_ns; }, a.has_gpu())
      .add(
          "self_device_ns", "GPU self", Unit::kNs, [](const R& r) { return r.self_device_ns; },
          a.has_gpu())
      .add("name", "Module", Unit::kText,
           [](const R& r) { return std::string(r.depth * 2, ' ') + r.name; })
      .add(
          "path", "Path", Unit::kText, [](const R& r) { return r.path; }, false);
  // As a tree: each behind its parent.
  std::vector<std::vector<std::size_t>> children(a.host.modules.size() + 1);
  for (std::size_t i = 0; i < a.host.modules.size(); ++i)
    children[static_cast<std::size_t>(a.host.modules[i].parent + 1)].push_back(i);
  std::vector<R> rows;
  std::vector<std::size_t> open(children[0].rbegin(), children[0].rend());
  while (!open.empty()) {
    const std::size_t i = open.back();
    open.pop_back();
    rows.push_back(a.host.modules[i]);
    open.insert(open.end(), children[i + 1].rbegin(), children[i + 1].rend());
  }
  return make_table<R>("module", rows, c.all());
}

namespace {

template <typename R>
void add_costs(Columns<R>& c, bool gpu) {
  c.add("operators", "Ops", Unit::kCount, [](const R& r) { return r.costs.operators; })
      .add("operator_ns", "In operators", Unit::kNs, [](const R& r) { return r.costs.operator_ns; })
      .add(
          "launches", "Launches", Unit::kCount, [](const R& r) { return r.costs.launches; }, false)
      .add(
          "gpu_ns", "GPU time", Unit::kNs, [](const R& r) { return r.costs.gpu_ns; }, gpu)
      .add(
          "waits", "Waits", Unit::kCount, [](const R& r) { return r.costs.waits; }, false)
      .add(
          "wait_ns", "GPU waits", Unit::kNs, [](const R& r) { return r.costs.wait_ns; }, gpu)
      .add(
          "allocations", "Allocs", Unit::kCount, [](const R& r) { return r.costs.allocations; },
          false)
      .add("allocated_bytes", "Allocated", Unit::kBytes,
           [](const R& r) { return r.costs.allocated_bytes; })
      .add(
          "steps", "Steps", Unit::kCount, [](const R& r) { return r.costs.steps; }, false);
}

}  // namespace

Table line_table(ProcessReport& a, const TableOptions&) {
  using R = LineRow;
  Columns<R> c;
  c.add("cpu_ns", "CPU", Unit::kNs, [](const R& r) { return r.costs.cpu_ns; })
      .add(
          "samples", "Samples", Unit::kCount, [](const R& r) { return r.costs.samples; }, false)
      .add(
          "self_samples", "Self samples", Unit::kCount,
          [](const R& r) { return r.costs.self_samples; }, false)
      .add(
          "blocked_samples", "Waiting", Unit::kCount,
          [](const R& r) { return r.costs.off_cpu_samples; }, false)
      .add("blocked_ns", "Waited", Unit::kNs, [](const R& r) { return r.costs.blocked_ns; });
  add_costs(c, a.has_gpu());
  c.add(
      "function", "Function", Unit::kText,
      [&a](const R& r) { return a.stack_table.frames[r.frame].name; }, false);
  c.add("line", "Line", Unit::kText, [&a](const R& r) { return line_text(a, r.frame); });
  return make_table<R>("line", a.host.lines, c.all());
}

Table site_table(ProcessReport& a, const TableOptions&) {
  using R = CallSiteRow;
  Columns<R> c;
  add_costs(c, a.has_gpu());
  c.add("name", "Operator", Unit::kText, [](const R& r) { return r.name; });
  c.add("line", "Line", Unit::kText, [&a](const R& r) { return line_text(a, r.frame); });
  return make_table<R>("site", a.host.sites, c.all());
}

Table step_table(ProcessReport& a, const TableOptions&) {
  using R = StepRow;
  Columns<R> c;
  const bool gpu = a.has_gpu();
  const bool windows = std::any_of(a.steps.steps.begin(), a.steps.steps.end(),
                                   [&](const R& r) { return r.window != a.steps.steps[0].window; });
  c.add("step", "Step", Unit::kText,
        [&a](const R& r) { return a.steps.is_synthetic ? "(all)" : std::to_string(r.label); })
      .add(
          "window", "Window", Unit::kCount, [](const R& r) { return r.window; }, windows)
      .add(
          "start_ns", "Start", Unit::kNs, [&a](const R& r) { return r.start_ns - a.meta.start_ns; },
          false)
      .add("time_ns", "Time", Unit::kNs, [](const R& r) { return r.length_ns(); });
  constexpr std::array<const char*, 8> kKeys = {"kernel_ns",        "memcpy_ns",  "memset_ns",
                                                "communication_ns", "runtime_ns", "dataloader_ns",
                                                "cpu_exec_ns",      "other_ns"};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const std::string title(name_of(static_cast<Category>(i)));
    const bool some = std::any_of(a.steps.steps.begin(), a.steps.steps.end(),
                                  [&](const R& r) { return r.time[i] != 0; });
    c.add(
        kKeys[i], title.c_str(), Unit::kNs, [i](const R& r) { return r.time[i]; }, some);
  }
  c.add(
       "gpu_busy_percent", "GPU busy", Unit::kPercent,
       [](const R& r) {
         return percent_of(static_cast<double>(r.gpu_busy_ns), static_cast<double>(r.length_ns()));
       },
       gpu)
      .add(
          "kernels", "Kernels", Unit::kCount, [](const R& r) { return r.kernels; }, gpu)
      .add(
          "gpu_waits", "Waits", Unit::kCount, [](const R& r) { return r.waits; }, false)
      .add(
          "gpu_wait_ns", "GPU waits", Unit::kNs, [](const R& r) { return r.wait_ns; }, gpu)
      .add(
          "launch_ns", "Launching", Unit::kNs, [](const R& r) { return r.launch_ns; }, false)
      .add(
          "peak_cpu_bytes", "Peak CPU", Unit::kBytes, [](const R& r) { return r.peak_cpu_bytes; },
          false)
      .add(
          "peak_gpu_bytes", "Peak GPU", Unit::kBytes, [](const R& r) { return r.peak_gpu_bytes; },
          gpu)
      .add(
          "allocations", "Allocs", Unit::kCount, [](const R& r) { return r.allocations; }, false)
      .add(
          "allocated_bytes", "Allocated", Unit::kBytes,
          [](const R& r) { return r.allocated_bytes; }, false)
      .add(
          "lost", "Lost", Unit::kCount, [](const R& r) { return r.lost_records; }, false)
      .add(
          "kept", "Kept", Unit::kText, [](const R& r) { return r.is_counted ? "yes" : "no"; },
          false)
      .add(
          "apart", "Apart", Unit::kText,
          [](const R& r) { return r.is_counted ? ""
                                  : r.warm_up  ? "warm-up"
                                               : "torn"; }, false)
      .add(
          "line_text", "Loop", Unit::kText, [](const R& r) { return r.where; }, false);
  return make_table<R>("step", a.steps.steps, c.all());
}

Table memory_table(ProcessReport& a, const TableOptions&) {
  struct R {
    std::string device;
    const ChurnRow* row;
  };
  std::vector<R> rows;
  for (const DeviceMemory& device : a.memory.devices)
    for (const ChurnRow& row : device.churn)
      rows.push_back({device.device < 0 ? "CPU" : "GPU " + std::to_string(device.device), &row});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const R& x, const R& y) { return x.row->bytes > y.row->bytes; });
  Columns<R> c;
  c.add("device", "Device", Unit::kText, [](const R& r) { return r.device; })
      .add("bytes", "Allocated", Unit::kBytes, [](const R& r) { return r.row->bytes; })
      .add("allocations", "Allocations", Unit::kCount,
           [](const R& r) { return r.row->allocations; })
      .add("freed_in_step", "Freed in step", Unit::kCount,
           [](const R& r) { return r.row->freed_in_step; })
      .add("operator", "Operator", Unit::kText,
           [](const R& r) { return r.row->owner.empty() ? "(none)" : r.row->owner; })
      .add("line", "Line", Unit::kText, [&a](const R& r) { return line_text(a, r.row->line); });
  return make_table<R>("memory", rows, c.all());
}

}  // namespace gpuprof::report
