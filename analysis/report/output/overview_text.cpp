// SPDX-License-Identifier: Apache-2.0
//
// The short report.
//
// Context:  cli
#include "analysis/report/output/overview_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/messages/report_overview.hpp"
#include "analysis/report/output/table_columns.hpp"
#include "analysis/report/output/tables.hpp"
#include "analysis/report/output/wall_time_text.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report {
namespace {

constexpr std::size_t kMaxRows = 8, kFewRows = 5;

/// Sentences over several lines.
std::string wrapped(const std::string& text, const std::string& first, std::size_t width) {
  const std::string indent(first.size(), ' ');
  std::string out = first, line;
  std::size_t used = first.size();
  for (const std::string& word : support::split(text, ' ')) {
    if (used + word.size() > width && used > first.size()) {
      while (out.ends_with(' ')) out.pop_back();
      out += '\n' + indent;
      used = indent.size();
    }
    out += word + ' ';
    used += word.size() + 1;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out + '\n';
}

std::string recorded_text(const ProcessReport& a, std::size_t width) {
  std::vector<std::string> kinds;
  // Trace files tell how long a stack stayed the same, not how often it was met.
  for (const auto& [kind, count] : a.meta.events)
    kinds.push_back(
        support::human_count(count) + " " +
        (kind == "samples" ? std::string(messages::report_overview::kSampleRuns) : kind));
  const std::string span = support::human_duration(a.meta.recorded_ns);
  const std::string all = support::join(kinds, ", ");
  const std::size_t windows = a.meta.windows.size();
  return wrapped(
      windows > 1 ? fmt::format(messages::report_overview::kRecordedInWindows, span, windows, all)
                  : fmt::format(messages::report_overview::kRecorded, span, all),
      "Recorded  ", width);
}

/// Steps that count in no mean.
std::string warm_up_text(const Steps& s) {
  const std::string indent(10, ' ');
  std::string text;
  for (const StepRow& step : s.steps) {
    if (!step.warm_up) continue;
    std::vector<std::pair<std::uint64_t, std::size_t>> parts;
    for (std::size_t i = 0; i < step.time.size(); ++i)
      if (step.time[i] != 0) parts.emplace_back(step.time[i], i);
    std::sort(parts.rbegin(), parts.rend());
    std::string line = indent + fmt::format(messages::report_overview::kWarmUpStep, step.label,
                                            format_time(static_cast<double>(step.length_ns())));
    for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i)
      line += fmt::format("{} {} {}", i == 0 ? ";" : ",",
                          name_of(static_cast<Category>(parts[i].second)),
                          format_time(static_cast<double>(parts[i].first)));
    text += line + "\n";
    if (&step - s.steps.data() >= 2) break;
  }
  if (s.warm_up == 4) text += indent + messages::report_overview::kOneMoreWarmUpStep + '\n';
  if (s.warm_up > 4)
    text += indent + fmt::format(messages::report_overview::kMoreWarmUpSteps, s.warm_up - 3) + '\n';
  return text;
}

std::string steps(const ProcessReport& a, std::size_t width) {
  const Steps& s = a.steps;
  if (s.steps.empty()) return "";
  std::string text = "\n";
  const auto mean = [&](std::size_t i) { return s.mean_ns[i]; };
  if (s.is_synthetic) {
    text += "Time      " +
            fmt::format(messages::report_overview::kNoSteps, format_time(s.length.mean_ns)) + '\n';
  } else {
    text += "Steps     " +
            fmt::format(messages::report_overview::kSteps, s.counted, s.steps.size(),
                        format_time(s.length.mean_ns), format_time(s.length.p50_ns),
                        format_time(s.length.p90_ns), format_time(s.length.p99_ns),
                        format_time(static_cast<double>(s.length.max_ns))) +
            '\n';
    text += warm_up_text(s);
  }
  const std::size_t bar = width > 60 ? std::min<std::size_t>(40, width - 50) : 10;
  for (std::size_t i = 0; i < s.mean_ns.size(); ++i) {
    if (mean(i) <= 0) continue;
    const double share = percent_of(mean(i), s.length.mean_ns);
    text += fmt::format(
        "  {:<14} {:>10}  {:>5.1f}%  {}\n", name_of(static_cast<Category>(i)), format_time(mean(i)),
        share,
        std::string(static_cast<std::size_t>(share / 100 * static_cast<double>(bar) + 0.5), '#'));
  }
  return text;
}

std::string gpus(ProcessReport& a, std::size_t width) {
  if (a.steps.gpus.empty()) return "";
  return "\nGPUs" + std::string(a.meta.simulated ? " (simulated)" : "") + "\n" +
         format_table(gpu_table(a, {}), kMaxRows, width);
}

std::string operators(ProcessReport& a, std::size_t width) {
  TableOptions options;
  options.with_overhead = false;
  Table table = operator_table(a, options);
  if (table.rows.empty()) return "";
  const bool device = a.operators.self_device_ns > 0;
  const char* const key = device ? "self_device_time_total_ns" : "self_cpu_time_total_ns";
  std::vector<std::string> columns = {"self_cpu_time_total_ns", "cpu_time_total_ns"};
  if (device) {
    std::erase_if(table.rows,
                  [](const auto& row) { return std::get<std::string>(row[1]) == "yes"; });
    columns.insert(columns.end(), {"self_device_time_total_ns", "device_time_total_ns"});
  }
  columns.insert(columns.end(), {"count", "name"});
  if (!sort_table(table, key) || !select_columns(table, columns)) return "";
  if (table.rows.size() > kMaxRows) table.rows.resize(kMaxRows);
  return '\n' + fmt::format(messages::report_overview::kOperators, device ? "CUDA" : "CPU") + '\n' +
         format_table(table, kMaxRows, width);
}

/// What CUPTI and the driver did for themselves: no operator of the program's.
std::string overheads(const ProcessReport& a, std::size_t width) {
  std::map<std::string, std::pair<std::int64_t, std::uint64_t>> sums;
  std::int64_t all_ns = 0;
  for (const OperatorRow& r : a.operators.rows) {
    if (r.kind != OperatorKind::kOverhead) continue;
    sums[r.name].first += r.cpu_ns;
    sums[r.name].second += r.count;
    all_ns += r.cpu_ns;
  }
  if (sums.empty()) return "";
  std::vector<std::pair<std::int64_t, std::string>> parts;
  for (const auto& [name, sum] : sums)
    parts.emplace_back(sum.first,
                       fmt::format("{} {} ({})", name, format_time(static_cast<double>(sum.first)),
                                   support::human_count(sum.second)));
  std::sort(parts.rbegin(), parts.rend());
  std::vector<std::string> texts;
  for (const auto& part : parts) texts.push_back(part.second);
  return "\n" +
         wrapped(fmt::format(messages::report_overview::kOverhead,
                             format_time(static_cast<double>(all_ns)), support::join(texts, ", ")),
                 "Overhead  ", width);
}

std::string first_rows_text(ProcessReport& a, std::size_t width, const char* title, const char* by,
                            const std::vector<std::string>& columns) {
  Table table = find_table(by)->make(a, {});
  if (table.rows.empty() || !select_columns(table, columns)) return "";
  if (table.rows.size() > kFewRows) table.rows.resize(kFewRows);
  return '\n' + fmt::format(messages::report_overview::kAllRows, title, by) + '\n' +
         format_table(table, kFewRows, width);
}

std::string lines(ProcessReport& a, std::size_t width) {
  const bool gpu = a.has_gpu();
  const bool sampled = std::any_of(a.host.lines.begin(), a.host.lines.end(), [](const auto& line) {
    return line.costs.samples + line.costs.off_cpu_samples != 0;
  });
  std::vector<std::string> columns;
  if (sampled) columns = {"cpu_ns", "blocked_ns"};
  columns.insert(columns.end(), {"operators", "operator_ns"});
  if (gpu) columns.insert(columns.end(), {"gpu_ns", "wait_ns"});
  columns.insert(columns.end(), {"function", "line"});
  return first_rows_text(a, width, messages::report_overview::kLines, "line", columns);
}

std::string memory(const ProcessReport& a) {
  std::string text;
  for (const DeviceMemory& d : a.memory.devices) {
    const std::string device = d.device < 0 ? "CPU" : fmt::format("GPU {}", d.device);
    const std::string peak = support::human_bytes(d.peak_allocated_bytes);
    const std::string allocated = support::human_bytes(d.allocated_bytes);
    const std::string count = support::count_with_unit(d.allocations, "allocation", "allocations");
    text += text.empty() ? "\nMemory    " : "          ";
    text += d.relative
                ? fmt::format(messages::report_overview::kMemoryAboveLowest, device, peak,
                              allocated, count)
                : fmt::format(messages::report_overview::kMemory, device, peak, allocated, count);
    text += '\n';
  }
  return text;
}

std::string ranks(const Report& report, std::size_t width) {
  if (report.processes.size() < 2) return "";
  Table table;
  table.name = "rank";
  table.columns = {{"rank", "Rank"},
                   {"pid", "Process", Unit::kCount},
                   {"steps", "Steps", Unit::kCount},
                   {"mean_ns", "Step", Unit::kNs},
                   {"gpu_percent", "GPU busy", Unit::kPercent},
                   {"communication_ns", "Communication", Unit::kNs},
                   {"dataloader_ns", "DataLoader", Unit::kNs},
                   {"command", "Command"}};
  for (const ProcessReport& a : report.processes) {
    double busy = 0;
    for (const GpuSummary& gpu : a.steps.gpus) busy = std::max(busy, gpu.utilisation * 100);
    const auto mean = [&](Category c) { return a.steps.mean_ns[static_cast<std::size_t>(c)]; };
    table.rows.push_back(
        {a.meta.rank < 0 ? std::string("-") : std::to_string(a.meta.rank), count_cell(a.meta.pid),
         count_cell(a.steps.counted), a.steps.length.mean_ns, busy, mean(Category::kCommunication),
         mean(Category::kDataLoader),
         support::escape_control_characters(a.meta.command.empty() ? a.meta.program
                                                                   : a.meta.command)});
  }
  return "Processes\n" + format_table(table, table.rows.size(), width) + "\n";
}

/// The importer's word where a file names no host.
constexpr std::string_view kUnknownHost = "trace";

}  // namespace

std::string heading_of(const ProcessReport& a) {
  std::string what =
      support::escape_control_characters(a.meta.command.empty() ? a.meta.program : a.meta.command);
  if (what.size() > 200) what = what.substr(0, 197) + "...";
  std::string text =
      a.meta.rank < 0 ? "" : fmt::format(messages::report_overview::kRank, a.meta.rank);
  const bool named = !a.meta.host.empty() && !(a.meta.imported && a.meta.host == kUnknownHost);
  const std::string process =
      named ? fmt::format(messages::report_overview::kProcessOnHost, a.meta.pid, a.meta.host)
            : fmt::format(messages::report_overview::kProcess, a.meta.pid);
  text += what.empty() ? process : fmt::format(messages::report_overview::kCommand, what, process);
  if (a.meta.simulated && a.has_gpu()) text += messages::report_overview::kOnSimulatedGpu;
  return text;
}

std::string overview_text(Report& report, std::size_t width) {
  std::string text = ranks(report, width);
  for (ProcessReport& a : report.processes) {
    text += wrapped(heading_of(a), "", width) + recorded_text(a, width) + wall_time_text(a, width) +
            steps(a, width) + gpus(a, width) + operators(a, width) + overheads(a, width) +
            first_rows_text(a, width, "Kernels", "kernel-name",
                            {"share_percent", "total_ns", "count", "mean_ns", "p99_ns", "name"}) +
            first_rows_text(a, width, messages::report_overview::kWaits, "sync",
                            {"total_ns", "count", "max_ns", "operator", "name", "line"}) +
            first_rows_text(a, width, "Collectives", "nccl",
                            {"total_ns", "calls", "mean_ns", "p99_ns", "bytes", "name"}) +
            lines(a, width) + memory(a);
    if (!a.meta.missing.empty()) {
      text += fmt::format("\n{}\n", messages::report_overview::kMissingData);
      for (const std::string& message : a.meta.missing) text += wrapped(message, "  - ", width);
    }
    if (&a != &report.processes.back()) text += "\n" + std::string(width, '=') + "\n\n";
  }
  if (!report.import_summary.messages.empty())
    text += fmt::format("\n{}\n", messages::report_overview::kImportMessages);
  for (const std::string& message : report.import_summary.messages)
    text += wrapped(support::escape_control_characters(message), "  - ", width);
  return text;
}

}  // namespace gpuprof::report
