// SPDX-License-Identifier: Apache-2.0
//
// split_by_event_count(): cuts a whole run into files of about equal numbers of events.
//
// Context:  daemon (export thread) | cli
// Promises: windows follow each other without a gap; with steps they meet at step borders
#include <algorithm>
#include <map>

#include "analysis/export/export.hpp"
#include "recording/model/ignoring_sink.hpp"

namespace gpuprof::exporter {
namespace {

/// One block of one process.
struct EventBlock {
  std::uint64_t end_ns;
  std::uint32_t process, events;
};

struct WholeRun {
  std::uint64_t start_ns = ~0ULL, end_ns = 0;
  std::uint64_t real_minus_mono_ns = 0;
  std::uint64_t largest = 0;  // events of the process that has most
  std::vector<EventBlock> pieces;
  std::vector<std::uint64_t> boundaries;  // where a step begins or ends, sorted
};

class ProcessLifetime final : public model::IgnoringSink {
 public:
  using model::IgnoringSink::on;
  void on(const model::Process& e) override { process = e; }
  void on(const model::ProcessEnd& e) override { end_ns = e.ts_ns; }

  model::Process process{};
  std::uint64_t end_ns = 0;
};

class StepCollector final : public model::IgnoringSink {
 public:
  using model::IgnoringSink::on;
  void on(const model::Step& e) override {
    if (steps.size() < kMaxSteps) steps.push_back(e);
  }
  std::vector<model::Step> steps;

 private:
  static constexpr std::size_t kMaxSteps = 1'000'000;
};

support::Result<void> scan_process(const spool::ProcessEntry& entry, std::uint32_t index,
                                   WholeRun& run) {
  GPUPROF_TRY(blocks, spool::block_summaries(entry, {}));
  ProcessLifetime origin;
  GPUPROF_TRY(end, spool::replay(entry, {~0ULL, ~0ULL}, origin));
  (void)end;
  if (run.real_minus_mono_ns == 0)
    run.real_minus_mono_ns = origin.process.start_real_ns - origin.process.start_ns;
  std::uint64_t events = 0;
  for (const spool::BlockSummary& block : blocks) {
    if (block.events == 0) continue;
    run.pieces.push_back({block.max_ns, index, block.events});
    run.start_ns = std::min(run.start_ns, block.min_ns);
    run.end_ns = std::max(run.end_ns, block.max_ns + 1);
    events += block.events;
  }
  run.largest = std::max(run.largest, events);
  if (events == 0 && origin.process.start_ns != 0) {
    run.start_ns = std::min(run.start_ns, origin.process.start_ns);
    run.end_ns = std::max(run.end_ns, std::max(origin.end_ns, origin.process.start_ns + 1'000'000));
  }
  return {};
}

/// The first step border at or after `at_ns`, else `at_ns`.
std::uint64_t next_step_boundary(const WholeRun& run, std::uint64_t at_ns) {
  const auto boundary = std::lower_bound(run.boundaries.begin(), run.boundaries.end(), at_ns);
  return boundary == run.boundaries.end() ? at_ns : *boundary;
}

std::vector<std::uint64_t> find_cuts(WholeRun& run, std::uint64_t limit) {
  std::sort(run.pieces.begin(), run.pieces.end(),
            [](const EventBlock& a, const EventBlock& b) { return a.end_ns < b.end_ns; });
  std::vector<std::uint64_t> cuts;
  std::map<std::uint32_t, std::uint64_t> since_cut;
  for (const EventBlock& piece : run.pieces) {
    if (!cuts.empty() && piece.end_ns < cuts.back()) continue;
    std::uint64_t& events = since_cut[piece.process];
    events += piece.events;
    if (events < limit) continue;
    const std::uint64_t cut = next_step_boundary(run, piece.end_ns + 1);
    if (cut >= run.end_ns) break;
    cuts.push_back(cut);
    since_cut.clear();
  }
  return cuts;
}

std::vector<model::Window> make_windows(const WholeRun& run, std::vector<std::uint64_t> cuts,
                                        bool from_start) {
  std::vector<model::Window> windows;
  cuts.push_back(run.end_ns);
  std::uint64_t start = run.start_ns;
  for (const std::uint64_t end : cuts) {
    if (end <= start) continue;
    model::Window window;
    window.index = static_cast<std::uint32_t>(windows.size());
    window.start_ns = start;
    window.end_ns = end;
    window.stamp_real_ns = start + run.real_minus_mono_ns;
    window.why = cuts.size() == 1 ? "whole run" : "span size";
    window.gapless = from_start || !windows.empty();
    windows.push_back(window);
    start = end;
  }
  if (!windows.empty()) windows.back().settled_ns = ~0ULL;
  return windows;
}

void count_steps(const std::vector<model::Step>& steps, std::vector<model::Window>& windows) {
  for (model::Window& window : windows)
    for (const model::Step& step : steps) {
      if (step.start_ns < window.start_ns || step.end_ns > window.end_ns) continue;
      if (window.steps++ != 0) continue;
      window.first_step = step.number;
      window.first_label = step.label;
    }
}

/// Steps of the first process that has them, as everywhere in a session.
support::Result<std::vector<model::Step>> find_steps(
    const std::vector<const spool::ProcessEntry*>& entries) {
  StepCollector sink;
  for (const spool::ProcessEntry* entry : entries) {
    GPUPROF_TRY(end, spool::replay(*entry, {}, sink));
    (void)end;
    if (!sink.steps.empty()) break;
  }
  return std::move(sink.steps);
}

}  // namespace

support::Result<std::vector<model::Window>> split_by_event_count(
    const spool::SessionView& session, const std::vector<std::uint32_t>& pids) {
  WholeRun run;
  std::vector<const spool::ProcessEntry*> entries;
  for (const spool::ProcessEntry& entry : session.processes) {
    if (std::find(pids.begin(), pids.end(), entry.pid) == pids.end()) continue;
    GPUPROF_CHECK(scan_process(entry, entry.pid, run));
    entries.push_back(&entry);
  }
  if (run.end_ns <= run.start_ns) return std::vector<model::Window>{};
  const std::uint64_t limit = std::max<std::uint64_t>(session.options.span_size_events, 1);
  const bool from_start = !session.options.running_processes;
  if (run.largest <= limit) return make_windows(run, {}, from_start);
  GPUPROF_TRY(steps, find_steps(entries));
  for (const model::Step& step : steps) {
    run.boundaries.push_back(step.start_ns);
    run.boundaries.push_back(step.end_ns);
  }
  std::sort(run.boundaries.begin(), run.boundaries.end());
  std::vector<model::Window> windows = make_windows(run, find_cuts(run, limit), from_start);
  count_steps(steps, windows);
  return windows;
}

}  // namespace gpuprof::exporter
