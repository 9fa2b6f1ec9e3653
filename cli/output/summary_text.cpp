// SPDX-License-Identifier: Apache-2.0
//
// The summary in words, for stderr at the end of a run.
//
// Context:  cli
#include "cli/output/summary_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "cli/messages/summary.hpp"
#include "support/io/files.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::count_with_unit;
using support::human_bytes;
using support::human_count;
using support::human_duration;

constexpr std::size_t kFilesNamed = 8;
constexpr std::size_t kProcessesNamed = 8;

class Lines {
 public:
  /// Names in it are of programs and files.
  void add(const std::string& line) {
    text_ += "gpuprof: " + support::escape_control_characters(line) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// "kernel" for "kernels", "copy" for "copies".
std::string one_of(const std::string& kinds) {
  const auto ends_in = [&](std::string_view end) {
    return kinds.size() > end.size() &&
           kinds.compare(kinds.size() - end.size(), end.size(), end) == 0;
  };
  if (ends_in("ies")) return kinds.substr(0, kinds.size() - 3) + "y";
  return ends_in("s") ? kinds.substr(0, kinds.size() - 1) : kinds;
}

/// "1.2 M kernels, 10 samples", or the other way round: "ring buffer full: 5".
std::string counts_text(recording::Counts counts, bool name_first) {
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    if (count == 0) continue;
    parts.push_back(name_first ? name + ": " + human_count(count)
                               : count_with_unit(count, one_of(name), name));
  }
  return support::join(parts, ", ");
}

/// The folder that all of them are in, or in folders of.
std::string common_folder(const std::vector<recording::SummaryFile>& files) {
  std::string folder = support::parent_folder(files[0].path);
  const auto holds = [&](const recording::SummaryFile& file) {
    return folder == "/" || file.path.rfind(folder + "/", 0) == 0;
  };
  while (folder.size() > 1 && !std::all_of(files.begin(), files.end(), holds))
    folder = support::parent_folder(folder);
  return folder;
}

std::string below(const std::string& path, const std::string& folder) {
  return path.rfind(folder + "/", 0) == 0 ? path.substr(folder.size() + 1)
                                          : support::base_name(path);
}

void add_files(const recording::Summary& s, Lines& lines) {
  if (s.files.empty()) {
    lines.add(messages::summary::kNoFile);
    return;
  }
  const std::string& format = s.files[0].format;
  std::uint64_t bytes = 0, events = 0;
  bool several = false;
  for (const recording::SummaryFile& file : s.files) {
    bytes += file.bytes;
    // Another format tells of the same events.
    if (file.format == format) events += file.events;
    several = several || file.format != format;
  }
  const std::string folder = common_folder(s.files);
  lines.add(fmt::format(messages::summary::kFiles,
                        count_with_unit(s.files.size(), "trace file", "trace files"), folder,
                        human_bytes(bytes), count_with_unit(events, "event", "events")));
  for (std::size_t i = 0; i < std::min(s.files.size(), kFilesNamed); ++i) {
    const recording::SummaryFile& file = s.files[i];
    std::string detail = several ? file.format + ", " : "";
    detail += fmt::format(messages::summary::kOfProcess, file.pid,
                          count_with_unit(file.events, "event", "events"));
    if (file.steps != 0) detail += ", " + count_with_unit(file.steps, "step", "steps");
    lines.add(fmt::format("  {} ({})", below(file.path, folder), detail));
  }
  if (s.files.size() > kFilesNamed) {
    lines.add(fmt::format(messages::summary::kMoreFiles, s.files.size() - kFilesNamed));
  }
}

void add_windows(const recording::Summary& s, Lines& lines) {
  if (s.windows.empty()) return;
  const recording::SummaryWindow& first = s.windows.front();
  std::uint64_t length_ns = 0, steps = 0;
  for (const recording::SummaryWindow& window : s.windows) {
    length_ns += window.end_ns - window.start_ns;
    steps += window.steps;
  }
  const std::string windows = count_with_unit(s.windows.size(), "window", "windows");
  std::string line =
      steps == 0
          ? fmt::format(messages::summary::kWindows, windows, human_duration(length_ns))
          : fmt::format(messages::summary::kWindowsOfSteps, windows, human_duration(length_ns),
                        count_with_unit(steps, "step", "steps"), first.first_step);
  if (!first.why.empty()) line += " (" + first.why + ")";
  lines.add(line);
}

void add_events(const recording::Summary& s, Lines& lines) {
  const std::string events = counts_text(s.events_by_kind, false);
  if (!events.empty()) lines.add("events: " + events);
  const std::string drops = counts_text(s.drops_by_reason, true);
  const std::string unknown = drops.empty()
                                  ? std::string(messages::summary::kDropsUnknown)
                                  : fmt::format(messages::summary::kOtherDropsUnknown, drops);
  lines.add("drops: " + (!s.drops_known ? unknown : drops.empty() ? "none" : drops));
  const std::string records = counts_text(s.ring_drops_by_kind, false);
  if (records.empty()) return;
  lines.add(fmt::format(messages::summary::kRingFull, records));
  lines.add(messages::summary::kRingAdvice);
}

std::string process_text(const recording::SummaryProcess& p) {
  std::vector<std::string> did;
  if (p.gpu_events != 0) did.push_back(count_with_unit(p.gpu_events, "GPU event", "GPU events"));
  if (p.operators != 0) did.push_back(count_with_unit(p.operators, "operator", "operators"));
  if (p.samples != 0) did.push_back(count_with_unit(p.samples, "sample", "samples"));
  if (p.ranges != 0) did.push_back(count_with_unit(p.ranges, "range", "ranges"));
  if (p.steps != 0) did.push_back(count_with_unit(p.steps, "step", "steps"));
  return fmt::format("  {} {} {}{}", p.pid, support::base_name(p.exe), p.role,
                     did.empty() ? "" : ": " + support::join(did, ", "));
}

void add_processes(const recording::Summary& s, Lines& lines) {
  if (s.processes_seen <= 1) return;
  std::map<std::string, std::size_t> roles;
  for (const recording::SummaryProcess& process : s.processes) ++roles[process.role];
  std::vector<std::string> parts;
  for (const auto& [role, count] : roles) parts.push_back(fmt::format("{} {}", count, role));
  const bool left_out = roles.size() > roles.count("traced");
  const std::string list = support::join(parts, ", ");
  const std::uint64_t seen = s.processes_seen;
  lines.add(parts.empty() ? fmt::format(messages::summary::kProcesses, seen)
            : left_out    ? fmt::format(messages::summary::kProcessesLeftOut, seen, list)
                          : fmt::format(messages::summary::kProcessesByRole, seen, list));
  std::size_t named = 0;
  for (const recording::SummaryProcess& process : s.processes) {
    if (process.role == "traced" && named++ < kProcessesNamed) lines.add(process_text(process));
  }
}

std::string sampling_text(const recording::SummaryOverhead& o) {
  if (o.sampler == "off" && o.samples == 0) return messages::summary::kNoStacks;
  const std::string samples = count_with_unit(o.samples, "on-CPU sample", "on-CPU samples");
  return o.effective_rate_hz > 0 ? fmt::format(messages::summary::kSampledAtRate, samples,
                                               o.sampler, o.effective_rate_hz)
                                 : fmt::format(messages::summary::kSampledBy, samples, o.sampler);
}

void add_overhead(const recording::Summary& s, Lines& lines) {
  const recording::SummaryOverhead& o = s.overhead;
  if (s.duration_ns == 0 || o.sampler.empty()) return;
  const double percent =
      100.0 * static_cast<double>(o.worker_cpu_ns) / static_cast<double>(s.duration_ns);
  lines.add(fmt::format(messages::summary::kOverhead, human_duration(o.worker_cpu_ns), percent,
                        human_duration(s.duration_ns), sampling_text(o)));
  const std::string daemon = human_duration(o.daemon_cpu_ns);
  lines.add(o.daemon_peak_bytes == 0 ? fmt::format(messages::summary::kDaemonOverhead, daemon)
                                     : fmt::format(messages::summary::kDaemonOverheadMemory, daemon,
                                                   human_bytes(o.daemon_peak_bytes)));
  if (o.limit.empty()) return;
  lines.add(fmt::format(messages::summary::kOverheadLimit, o.highest_percent, o.limit,
                        count_with_unit(s.left_out.size(), "reduction", "reductions")));
}

/// The spool lies beside the files: where one found no room the other does not.
bool disk_is_full(const recording::Summary& s) {
  return std::any_of(s.failures.begin(), s.failures.end(), [](const std::string& message) {
    return message.find(std::strerror(ENOSPC)) != message.npos ||
           message.find(std::strerror(EDQUOT)) != message.npos;
  });
}

void add_failures(const recording::Summary& s, Lines& lines) {
  for (const std::string& message : s.failures) lines.add("failed: " + message);
  if (!s.spool_folder.empty()) {
    const std::string spool = support::shell_join({s.spool_folder});
    if (disk_is_full(s))
      lines.add(fmt::format(messages::summary::kRecoverElsewhere, spool));
    else
      lines.add(fmt::format(messages::summary::kRecoverWith, spool));
  }
}

}  // namespace

std::string failures_text(const recording::Summary& s) {
  Lines lines;
  add_failures(s, lines);
  return lines.text();
}

std::string summary_text(const recording::Summary& s) {
  Lines lines;
  if (!s.name.empty()) lines.add("session " + s.name);
  add_files(s, lines);
  if (s.simulated) lines.add(messages::summary::kSimulated);
  add_windows(s, lines);
  if (!s.files.empty()) add_events(s, lines);
  add_processes(s, lines);
  add_overhead(s, lines);
  if (s.peers_refused != 0) {
    lines.add(fmt::format(messages::summary::kRefused,
                          count_with_unit(s.peers_refused, "connection", "connections")));
  }
  for (const std::string& message : s.missing) lines.add("missing: " + message);
  for (const std::string& message : s.remarks) lines.add("note: " + message);
  add_failures(s, lines);
  for (const std::string& command : s.open_with) lines.add("open with: " + command);
  return lines.text();
}

}  // namespace gpuprof::cli
