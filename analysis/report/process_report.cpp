// SPDX-License-Identifier: Apache-2.0
//
// One process: its windows one after the other, each part adding up.
//
// Context:  cli
#include "analysis/report/process_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "analysis/export/export.hpp"
#include "analysis/export/labels/rank.hpp"
#include "analysis/messages/report.hpp"
#include "analysis/report/aggregation/flame_aggregator.hpp"
#include "analysis/report/aggregation/gpu_aggregator.hpp"
#include "analysis/report/aggregation/host_aggregator.hpp"
#include "analysis/report/aggregation/memory_aggregator.hpp"
#include "analysis/report/aggregation/operator_aggregator.hpp"
#include "analysis/report/aggregation/step_aggregator.hpp"
#include "analysis/report/aggregation/warm_up_steps.hpp"
#include "analysis/report/step_thread/step_thread_builder.hpp"
#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {
namespace {

void add_counts(std::vector<std::pair<std::string, std::uint64_t>>& all,
                const std::vector<std::pair<std::string, std::uint64_t>>& more) {
  for (const auto& [name, count] : more) {
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&n = name](const auto& one) { return one.first == n; });
    if (at == all.end())
      all.emplace_back(name, count);
    else
      at->second += count;
  }
}

/// In how many windows each message occurs, whatever number it begins with.
class MissingByWindow {
 public:
  void add(const std::string& message) { ++windows_[key_of(message)]; }
  /// Marks the messages that are not about all windows.
  void finish(Meta& meta) const {
    for (std::string& message : meta.missing) {
      const auto reported = windows_.find(key_of(message));
      const std::size_t in = reported == windows_.end() ? meta.windows.size() : reported->second;
      if (in < meta.windows.size())
        message += fmt::format(messages::report::kInSomeWindows, in, meta.windows.size());
    }
  }

 private:
  static std::string key_of(const std::string& message) {
    return message.substr(std::min(message.find_first_not_of("0123456789"), message.size()));
  }
  std::map<std::string, std::size_t> windows_;
};

void add_meta(Meta& meta, MissingByWindow& reported, exporter::EventResolver& shown,
              const Timeline& timeline) {
  const exporter::Prescan& prescan = shown.prescan();
  const exporter::WrittenFile written = shown.make_written_file("report", 0);
  const model::Window& window = shown.request().window;
  meta.pid = prescan.pid;
  meta.program = prescan.exe;
  meta.command = prescan.command_line;
  meta.simulated = meta.simulated || shown.has_simulated_gpu();
  for (const auto& [key, value] : prescan.facts) meta.facts[key] = value;
  const exporter::Rank rank = exporter::rank_of(prescan.facts);
  if (rank.known()) meta.rank = static_cast<std::int64_t>(rank.rank);
  meta.world_size = static_cast<std::uint32_t>(rank.world_size);
  meta.windows.push_back({window.index, window.start_ns, window.end_ns, window.stamp_real_ns,
                          window.first_label, window.steps, window.why});
  add_counts(meta.events, written.events_by_kind);
  add_counts(meta.drops, written.drops_by_reason);
  for (const std::string& message : written.missing) {
    exporter::merge_message(meta.missing, message);
    reported.add(message);
  }
  for (const auto& notice : prescan.notices)
    if (std::find(meta.notices.begin(), meta.notices.end(), notice.text) == meta.notices.end())
      meta.notices.push_back(notice.text);
  if (timeline.left_out != 0)
    meta.missing.push_back(fmt::format(messages::report::kEventsNotInReport, timeline.left_out));
  if (timeline.first_ns <= timeline.last_ns) {
    meta.start_ns =
        meta.start_ns == 0 ? timeline.first_ns : std::min(meta.start_ns, timeline.first_ns);
    meta.end_ns = std::max(meta.end_ns, timeline.last_ns);
  }
}

/// Steps in front that stand apart; of windows with few steps the next ones are asked as well.
///
/// @param windows From the one of `timeline` on.
support::Result<std::size_t> find_warm_up(const Timeline& timeline,
                                          const exporter::FileRequest& request,
                                          std::span<const model::Window> windows) {
  constexpr std::size_t kEnough = 8;
  if (!is_first_program_step(timeline.steps.front())) return std::size_t{0};
  std::vector<std::uint64_t> lengths;
  for (const StepRow& step : step_rows(timeline)) lengths.push_back(step.length_ns());
  for (std::size_t i = 1; i < windows.size() && lengths.size() < kEnough; ++i) {
    exporter::FileRequest next{request.session, windows[i], request.process, "", "", false, 0, {}};
    GPUPROF_TRY(shown, exporter::EventResolver::open(next));
    for (const model::Step& step : shown->prescan().steps)
      lengths.push_back(step.end_ns - step.start_ns);
  }
  return std::min(count_warm_up_steps(lengths), timeline.steps.size());
}

struct Aggregators {
  explicit Aggregators(Dictionary& d)
      : operators(d), gpu(d), steps(d), host(d), flames(d), memory(d) {}

  void add(const Timeline& timeline, const exporter::Prescan& prescan, bool with_flames) {
    operators.add(timeline);
    gpu.add(timeline);
    steps.add(timeline, prescan);
    host.add(timeline, prescan);
    memory.add(timeline);
    if (with_flames) flames.add(timeline, prescan);
  }

  OperatorAggregator operators;
  GpuAggregator gpu;
  StepAggregator steps;
  HostAggregator host;
  FlameAggregator flames;
  MemoryAggregator memory;
};

}  // namespace

support::Result<ProcessReport> analyze_process(const spool::SessionView& session,
                                               const spool::ProcessEntry& process,
                                               const std::vector<model::Window>& windows,
                                               const ProcessReportOptions& options) {
  ProcessReport analysis;
  analysis.meta.host = session.host;
  Dictionary dictionary;
  Aggregators parts(dictionary);
  using Labels = std::pair<std::uint64_t, std::uint64_t>;
  advice::StepThreadBuilder step_thread(
      options.steps ? std::optional(Labels{options.steps->first, options.steps->last})
                    : std::nullopt);
  MissingByWindow reported;
  bool any_step = false;
  std::size_t warm_up = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const model::Window& window = windows[i];
    const exporter::FileRequest request{session, window, process, "",
                                        "",      false,  0,       options.progress};
    GPUPROF_TRY(shown, exporter::EventResolver::open(request));
    step_thread.begin(*shown);
    GPUPROF_TRY(timeline, build_timeline(*shown, options, dictionary,
                                         options.step_thread ? &step_thread : nullptr));
    if (!any_step && !timeline.steps.empty()) {
      GPUPROF_TRY(apart, find_warm_up(timeline, request, std::span(windows).subspan(i)));
      warm_up = timeline.warm_up = apart;
    }
    any_step = any_step || !timeline.steps.empty();
    if (options.steps && timeline.steps.empty()) continue;
    parts.add(timeline, shown->prescan(), options.flames);
    add_meta(analysis.meta, reported, *shown, timeline);
  }
  if (options.steps && !any_step)
    return support::error(
        fmt::format(messages::report::kNoStep, options.steps->first, options.steps->last));
  reported.finish(analysis.meta);
  analysis.operators = parts.operators.take();
  analysis.gpu = parts.gpu.finish();
  analysis.steps = parts.steps.take();
  analysis.host = parts.host.take();
  analysis.flames = parts.flames.take();
  analysis.memory = parts.memory.take();
  if (options.step_thread) analysis.step_thread = step_thread.finish(warm_up);
  analysis.wall = compute_wall_time(analysis.steps, analysis.meta.windows, analysis.step_thread,
                                    options.steps.has_value());
  analysis.meta.recorded_ns = analysis.wall.recorded_ns;
  analysis.stack_table = std::move(dictionary.places);
  return analysis;
}

}  // namespace gpuprof::report
