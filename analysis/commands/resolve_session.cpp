// SPDX-License-Identifier: Apache-2.0
//
// Settling a session.
//
// Context:  cli
#include "analysis/commands/resolve_session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/export.hpp"
#include "analysis/messages/analysis_commands.hpp"
#include "recording/model/ignoring_sink.hpp"
#include "recording/model/open_snapshots.hpp"
#include "support/io/files.hpp"
#include "support/text/text.hpp"

namespace gpuprof::commands {
namespace {

/// What one process did, as far as the choice of files needs it.
class ProcessActivity final : public model::IgnoringSink {
 public:
  using model::IgnoringSink::on;
  void on(const model::Process& p) override {
    about.pid = p.pid;
    about.ppid = p.ppid;
    about.woke = p.woke;
    about.exe = p.exe;
    about.command_line = p.command_line;
    real_minus_mono_ns = p.start_real_ns - p.start_ns;
  }
  void on(const model::Sample& s) override {
    ++about.samples;
    if (s.state == 0) about.cpu_ns += s.weight_ns;
    saw(s.ts_ns, s.ts_ns);
  }
  void on(const model::Range& r) override {
    if (!copies.add_snapshot(r)) ++about.ranges, saw(r.start_ns, r.end_ns);
  }
  void on(const model::Operator& o) override {
    if (!copies.add_snapshot(o)) ++about.operators, saw(o.start_ns, o.end_ns);
  }
  void on(const model::Step& s) override { ++about.steps, saw(s.start_ns, s.end_ns); }
  void on(const model::ApiCall& c) override { ++about.api_calls, saw(c.start_ns, c.end_ns); }
  void on(const model::Kernel& k) override { ++about.gpu_events, saw(k.start_ns, k.end_ns); }
  void on(const model::MemCopy& m) override { ++about.gpu_events, saw(m.start_ns, m.end_ns); }
  void on(const model::MemSet& m) override { ++about.gpu_events, saw(m.start_ns, m.end_ns); }
  void on(const model::GraphExec& g) override { ++about.gpu_events, saw(g.start_ns, g.end_ns); }

  void on(const model::ProcessEnd&) override { ended = true; }

  bool qualifies() const {
    return about.gpu_events + about.api_calls + about.ranges + about.steps + about.operators != 0;
  }
  bool has_events() const { return first_ns <= last_ns; }

  recording::SummaryProcess about;
  std::uint64_t first_ns = ~0ULL, last_ns = 0;
  exporter::OpenSnapshots copies;
  std::uint64_t real_minus_mono_ns = 0;
  bool readable = true;
  bool ended = false;  // its spool tells how the process ended, and that comes last

 private:
  void saw(std::uint64_t from_ns, std::uint64_t to_ns) {
    first_ns = std::min(first_ns, from_ns);
    last_ns = std::max(last_ns, to_ns);
  }
};

/// One an entry of the view, in its order.
using Tallies = std::vector<ProcessActivity>;

Tallies read_activity(const spool::SessionView& view, std::uint64_t from_ns,
                      std::vector<std::string>* missing) {
  Tallies tallies;
  for (const spool::ProcessEntry& process : view.processes) {
    ProcessActivity& one = tallies.emplace_back();
    one.about.pid = process.pid;
    auto end = spool::replay(process, {from_ns, ~0ULL}, one);
    if (!end) {
      missing->push_back(
          fmt::format(messages::analysis_commands::kProcess, process.pid, end.error().message));
      one.readable = false;
    } else if (!end.value().complete) {
      const std::string lost = support::count_with_unit(end.value().bytes_left, "byte", "bytes");
      missing->push_back(
          end.value().damaged
              ? fmt::format(messages::analysis_commands::kSpoolDamaged, process.pid, lost)
              : fmt::format(messages::analysis_commands::kSpoolIncomplete, process.pid, lost));
    }
  }
  return tallies;
}

/// The rule of the daemon: who used the GPU, operators, ranges or steps; else who used most CPU
/// time.
std::vector<std::string> choose(const spool::SessionView& view, const Tallies& tallies) {
  std::vector<std::string> selected;
  const ProcessActivity* busiest = nullptr;
  std::string name_of_busiest;
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    const ProcessActivity& one = tallies[i];
    const std::string name = support::base_name(view.processes[i].spool_path);
    if (!one.readable || !one.has_events()) continue;
    if (one.qualifies() || view.options.all_processes) selected.push_back(name);
    if (busiest != nullptr && one.about.cpu_ns <= busiest->about.cpu_ns) continue;
    busiest = &one;
    name_of_busiest = name;
  }
  if (selected.empty() && busiest != nullptr) selected.push_back(name_of_busiest);
  return selected;
}

bool is_selected(const spool::SessionView& view, const spool::ProcessEntry& process) {
  if (view.selected_spools.empty())
    return std::find(view.selected.begin(), view.selected.end(), process.pid) !=
           view.selected.end();
  const std::string name = support::base_name(process.spool_path);
  return std::find(view.selected_spools.begin(), view.selected_spools.end(), name) !=
         view.selected_spools.end();
}

/// Leaves what gets a file in the view, and the roles in the summary.
void resolve_choice(const Tallies& tallies, spool::SessionView* view, recording::Summary* summary) {
  if (view->selected.empty() && view->selected_spools.empty())
    view->selected_spools = choose(*view, tallies);
  summary->processes_seen = view->processes.size();
  std::vector<bool> selected;
  for (const spool::ProcessEntry& process : view->processes)
    selected.push_back(is_selected(*view, process));
  view->selected.clear();
  std::vector<spool::ProcessEntry> kept;
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    if (!tallies[i].readable) continue;
    const spool::ProcessEntry& process = view->processes[i];
    const bool traced = selected[i];
    summary->processes.push_back(tallies[i].about);
    summary->processes.back().role = traced ? "traced" : "quiet";
    if (!traced) continue;
    kept.push_back(process);
    if (!tallies[i].ended) kept.back().truncated_at_ns = tallies[i].last_ns;
    // A daemon that died had stored what belongs to a window before it named the window.
    if (!tallies[i].ended && !view->ended && !view->windows.empty())
      kept.back().truncated_at_ns =
          std::max(kept.back().truncated_at_ns, view->windows.back().end_ns);
    summary->drops_known = summary->drops_known && tallies[i].ended;
    if (std::find(view->selected.begin(), view->selected.end(), process.pid) ==
        view->selected.end())
      view->selected.push_back(process.pid);
  }
  view->processes = std::move(kept);
  summary->processes_traced = view->selected.size();
}

/// What was recorded after the last window the daemon settled, as one window more.
void add_rest(const spool::SessionView& view, std::vector<model::Window>* windows) {
  if (view.ended || windows->empty()) return;
  std::vector<std::string> ignored;
  const Tallies rest = read_activity(view, windows->back().end_ns, &ignored);
  model::Window window;
  window.index = windows->back().index + 1;
  window.start_ns = ~0ULL;
  window.why = "open when the daemon ended";
  window.settled_ns = ~0ULL;
  for (const ProcessActivity& one : rest) {
    if (!one.readable || !one.has_events()) continue;
    // What was open over the last window's end begins there.
    const std::uint64_t first_ns = one.copies.any_still_open() ? 0 : one.first_ns;
    window.start_ns = std::min(window.start_ns, std::max(first_ns, windows->back().end_ns));
    window.end_ns = std::max(window.end_ns, one.last_ns + 1);
    window.stamp_real_ns = window.start_ns + one.real_minus_mono_ns;
  }
  if (window.start_ns < window.end_ns) windows->push_back(window);
}

}  // namespace

support::Result<std::vector<model::Window>> resolve_session(spool::SessionView* view,
                                                            recording::Summary* summary) {
  if (!view->damage.empty()) summary->missing.push_back(view->damage);
  resolve_choice(read_activity(*view, 0, &summary->missing), view, summary);
  if (view->selected.empty())
    return support::error(summary->missing.empty() ? messages::analysis_commands::kNoEvents
                                                   : support::join(summary->missing, "; "));
  std::vector<model::Window> windows = view->windows;
  if (windows.empty()) {
    GPUPROF_TRY(cut, exporter::split_by_event_count(*view, view->selected));
    windows = cut;
  }
  add_rest(*view, &windows);
  return windows;
}

support::Result<std::vector<model::Window>> resolved_windows(spool::SessionView* view,
                                                             std::vector<std::string>* missing) {
  const bool known = view->ended && !view->windows.empty() &&
                     !(view->selected.empty() && view->selected_spools.empty());
  if (!known) {
    recording::Summary summary;
    auto windows = resolve_session(view, &summary);
    *missing = summary.missing;
    return windows;
  }
  if (!view->damage.empty()) missing->push_back(view->damage);
  std::erase_if(view->processes, [&](const auto& process) { return !is_selected(*view, process); });
  return view->windows;
}

}  // namespace gpuprof::commands
