// SPDX-License-Identifier: Apache-2.0
//
// What was recorded, of whom; processes side by side; what was lost.
//
// Context:  cli
#include <fmt/format.h>

#include <array>
#include <ctime>

#include "analysis/messages/page_views.hpp"
#include "analysis/report/page/sections.hpp"

namespace gpuprof::report::page {
namespace {

std::string date(std::uint64_t real_ns) {
  const auto seconds = static_cast<std::time_t>(real_ns / 1'000'000'000);
  std::tm tm{};
  if (real_ns == 0 || gmtime_r(&seconds, &tm) == nullptr) return "not known";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", tm.tm_year + 1900, tm.tm_mon + 1,
                     tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void begin_group(PageJson& json, std::string_view title) {
  json.object().key("title").text(title).key("facts").array();
}
void end_group(PageJson& json) { json.end_array().end_object(); }

void write_process(PageJson& json, const Meta& meta) {
  begin_group(json, "Process");
  json.fact("Program", meta.program).fact("Command", meta.command).fact("Host", meta.host);
  json.fact("Process id", fmt::format("{}", meta.pid));
  if (meta.rank >= 0) {
    json.fact("Rank", meta.world_size > 0 ? fmt::format("{} of {}", meta.rank, meta.world_size)
                                          : fmt::format("{}", meta.rank));
  }
  json.fact("Source", meta.source);
  json.fact("Recorded by", meta.imported ? messages::page_views::kRecordedByOther : "gpuprof");
  if (meta.simulated) json.fact("GPU", messages::page_views::kSimulatedGpu);
  end_group(json);
}

void write_windows(PageJson& json, const Meta& meta) {
  begin_group(json, "Recording");
  for (const WindowMeta& window : meta.windows) {
    const double seconds = static_cast<double>(window.end_ns - window.start_ns) / 1e9;
    std::string text = fmt::format("{}, {:.3f} s", date(window.start_real_ns), seconds);
    if (window.steps > 0)
      text += fmt::format(", steps {} to {}", window.first_label,
                          window.first_label + window.steps - 1);
    if (!window.reason.empty()) text += " (" + window.reason + ")";
    json.fact(fmt::format("Window {}", window.index + 1), text);
  }
  for (const auto& [kind, count] : meta.events)
    if (count > 0) json.fact(kind, count, "count");
  end_group(json);
}

double to_double(std::uint64_t value) { return static_cast<double>(value); }

double utilisation(const Steps& steps) {
  double sum = 0;
  for (const GpuSummary& gpu : steps.gpus) sum += gpu.utilisation;
  return steps.gpus.empty() ? 0 : sum / to_double(steps.gpus.size());
}

void write_ranks(PageJson& json, const Report& report) {
  static constexpr std::array kColumns{
      PageColumn{"process", "Process", "text"},
      PageColumn{"host", "Host", "text"},
      PageColumn{"steps", "Steps", "count"},
      PageColumn{"mean", "Mean step", "us"},
      PageColumn{"p95", "95th percentile", "us"},
      PageColumn{"max", "Longest", "us"},
      PageColumn{"utilisation", "GPU in use", "share"},
      PageColumn{"kernels", "Kernel time", "us"},
      PageColumn{"communication", "Communication in kernels", "us"},
      PageColumn{"loader", "Data loading per step", "us"}};
  begin_table(json, "ranks", "Processes", kColumns, "");
  for (const ProcessReport& analysis : report.processes) {
    const Steps& steps = analysis.steps;
    json.array().text(process_name(analysis.meta)).text(analysis.meta.host);
    json.number(static_cast<std::uint64_t>(steps.is_synthetic ? 0 : steps.steps.size()));
    json.us(steps.length.mean_ns).us(steps.length.p95_ns).us(steps.length.max_ns);
    json.number(utilisation(steps)).us(analysis.gpu.kernel_ns).us(analysis.gpu.communication_ns);
    json.us(steps.mean_ns[static_cast<std::size_t>(Category::kDataLoader)]).end_array();
  }
  end_table(json, 0);
}

void write_collectives(PageJson& json, const Report& report) {
  static constexpr std::array kColumns{PageColumn{"name", "Collective", "name"},
                                       PageColumn{"process", "Process", "text"},
                                       PageColumn{"group", "Group", "text"},
                                       PageColumn{"dtype", "Type", "text"},
                                       PageColumn{"count", "Calls", "count"},
                                       PageColumn{"bytes", "Bytes", "bytes"},
                                       PageColumn{"host", "Host time", "us"},
                                       PageColumn{"gpu", "GPU time", "us"},
                                       PageColumn{"gpu_mean", "Mean GPU time", "us"},
                                       PageColumn{"gpu_max", "Longest GPU time", "us"}};
  begin_table(json, "collectives", "Collectives", kColumns, "host");
  for (const ProcessReport& analysis : report.processes) {
    for (const CollectiveRow& row : analysis.gpu.collectives) {
      json.array().text(row.name).text(process_name(analysis.meta)).text(row.group).text(row.dtype);
      if (row.known_by_kernel_only())
        json.null().null().null();
      else
        json.number(row.host.count).number(row.bytes).us(row.host.total_ns);
      json.us(row.device.total_ns);
      json.us(row.device.mean_ns).us(row.device.max_ns).end_array();
    }
  }
  end_table(json, 0);
}

}  // namespace

std::string process_name(const Meta& meta) {
  std::string where = meta.host.empty() ? fmt::format("pid {}", meta.pid)
                                        : fmt::format("{}, pid {}", meta.host, meta.pid);
  return meta.rank >= 0 ? fmt::format("rank {} ({})", meta.rank, where) : where;
}

void write_environment(SectionContext& part) {
  const Meta& meta = part.analysis.meta;
  part.json.array();
  write_process(part.json, meta);
  write_windows(part.json, meta);
  begin_group(part.json, "Versions and settings");
  for (const auto& [key, value] : meta.facts) part.json.fact(key, value);
  end_group(part.json);
  part.json.end_array();
}

void write_losses(SectionContext& part) {
  static constexpr std::array kColumns{PageColumn{"reason", "Reason", "text"},
                                       PageColumn{"count", "Lost records", "count"}};
  std::vector<std::pair<std::string, std::uint64_t>> drops = part.analysis.meta.drops;
  std::erase_if(drops, [](const auto& drop) { return drop.second == 0; });
  write_table(part, "losses", "Lost records", kColumns, "count", "", drops,
              [&part](const auto& drop) { part.json.text(drop.first).number(drop.second); });
}

void write_distributed(PageJson& json, const Report& report) {
  json.array();
  if (report.processes.size() > 1) write_ranks(json, report);
  write_collectives(json, report);
  json.end_array();
}

}  // namespace gpuprof::report::page
