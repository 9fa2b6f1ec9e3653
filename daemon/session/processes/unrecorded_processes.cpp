// SPDX-License-Identifier: Apache-2.0
//
// Looks through /proc and at programs' files.
//
// Context:  daemon (ingest thread)
#include "daemon/session/processes/unrecorded_processes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "daemon/messages/process_unrecorded.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/messages.hpp"
#include "support/io/files.hpp"
#include "support/process/procfs.hpp"
#include "support/process/program_probe.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {
namespace {

constexpr std::uint64_t kScanPeriodNs = 1'000'000'000;
constexpr std::size_t kMaxKept = 1000, kMaxReported = 8;

std::uint64_t fifth_of_a_second() { return static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)) / 5; }

std::string unrecorded_reason(std::uint32_t pid, const std::string& path) {
  const std::string why = support::preload_obstacle(support::probe_program(path, ""));
  if (!why.empty()) return why;
  const std::string environment = support::read_small_file(fmt::format("/proc/{}/environ", pid));
  const auto has = [&](std::string_view name) {
    return environment.find(std::string(name) + "=") != std::string::npos;
  };
  if (!environment.empty() && (!has(wire::kSocketVariable) || !has("LD_PRELOAD")))
    return messages::process_unrecorded::kNoPreload;
  return messages::process_unrecorded::kNoWorkerThread;
}

}  // namespace

void UnrecordedProcesses::look(std::uint32_t root, const IsKnown& is_known, std::uint64_t now_ns) {
  if (root == 0 || now_ns < due_ns_) return;
  std::set<pid_t> family{static_cast<pid_t>(root)};
  const auto all = support::all_processes();
  // Children have higher numbers than their parents, but where numbers begin anew.
  for (std::size_t before = 0; before != family.size();) {
    before = family.size();
    for (const auto& [pid, stat] : all)
      if (family.contains(stat.parent)) family.insert(pid);
  }
  for (const auto& [number, stat] : all) {
    const auto pid = static_cast<std::uint32_t>(number);
    if (pid == root || !family.contains(number) || stat.cpu_ticks < fifth_of_a_second() ||
        stat.state == 'Z' || is_known(pid) || processes_.size() >= kMaxKept)
      continue;
    Process& process = processes_[pid];
    process.cpu_ticks = stat.cpu_ticks;
    if (!process.name.empty()) continue;
    std::error_code problem;
    const std::string path =
        std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), problem).string();
    process.name = problem ? "?" : support::base_name(path);
    process.why =
        problem ? messages::process_unrecorded::kUnknownProgram : unrecorded_reason(pid, path);
  }
  const std::uint64_t end_ns = base::mono_ns();
  due_ns_ = end_ns + std::max(kScanPeriodNs, 200 * (end_ns - now_ns));
}

std::vector<std::string> UnrecordedProcesses::messages(const IsKnown& is_known) const {
  std::vector<std::pair<std::uint32_t, const Process*>> left;
  for (const auto& [pid, process] : processes_)
    if (!is_known(pid)) left.emplace_back(pid, &process);
  std::stable_sort(left.begin(), left.end(), [](const auto& a, const auto& b) {
    return a.second->cpu_ticks > b.second->cpu_ticks;
  });
  std::vector<std::string> reported;
  for (const auto& [pid, process] : left) {
    if (reported.size() == kMaxReported) {
      reported.push_back(
          fmt::format(messages::process_unrecorded::kMoreNotRecorded,
                      support::count_with_unit(left.size() - kMaxReported, "more process was",
                                               "more processes were")));
      break;
    }
    reported.push_back(
        fmt::format(messages::process_unrecorded::kNotRecorded, pid, process->name, process->why));
  }
  return reported;
}

}  // namespace gpuprof::session
