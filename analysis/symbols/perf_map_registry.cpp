// SPDX-License-Identifier: Apache-2.0
//
// Opens the root of a process while it lives.
//
// Context:  daemon
#include "analysis/symbols/perf_map_registry.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <utility>

#include "support/io/files.hpp"

namespace gpuprof::symbols {
namespace {

/// The words after `name:` in /proc/PID/status.
std::vector<std::uint64_t> numbers_of(const std::string& status, const std::string& name) {
  std::vector<std::uint64_t> numbers;
  const std::size_t at = status.find("\n" + name + ":");
  if (at == std::string::npos) return numbers;
  std::istringstream line(status.substr(at + name.size() + 2, status.find('\n', at + 1) - at));
  for (std::uint64_t number; line >> number;) numbers.push_back(number);
  return numbers;
}

/// Field 22 of /proc/PID/stat; 0: it cannot be read.
std::uint64_t start_ticks_of(const std::string& proc) {
  const std::string stat = support::read_small_file(proc + "/stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 20 && fields >> field;) ++i;
  return std::strtoull(field.c_str(), nullptr, 10);
}

std::time_t began_at(std::uint64_t start_ticks) {
  const double uptime_s = std::atof(support::read_small_file("/proc/uptime").c_str());
  const double began_s =
      static_cast<double>(start_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  constexpr std::time_t kSlackS = 2;
  return std::time(nullptr) - static_cast<std::time_t>(uptime_s - began_s) - kSlackS;
}

}  // namespace

PerfMapRegistry& PerfMapRegistry::shared() {
  static PerfMapRegistry maps;
  return maps;
}

void PerfMapRegistry::watch(std::uint32_t pid, std::uint64_t start_ticks) {
  const std::lock_guard lock(mutex_);
  for (const Known& known : known_)
    if (known.pid == pid && known.start_ticks == start_ticks) return;
  const std::string proc = "/proc/" + std::to_string(pid);
  PerfMapOrigin origin;
  origin.root.reset(::open((proc + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string status = support::read_small_file(proc + "/status");
  const std::uint64_t ticks = start_ticks_of(proc);
  // Behind the root was opened: it is this process's, or the number belongs to another by now.
  if (!origin.root || ticks == 0 || (start_ticks != 0 && ticks != start_ticks)) return;
  const std::vector<std::uint64_t> own_numbers = numbers_of(status, "NSpid");
  const std::uint64_t own = own_numbers.empty() ? pid : own_numbers.back();
  origin.path = "tmp/perf-" + std::to_string(own) + ".map";
  for (const std::uint64_t uid : numbers_of(status, "Uid"))
    origin.owners.push_back(static_cast<uid_t>(uid));
  origin.from_s = began_at(ticks);
  known_.push_front({pid, start_ticks, std::make_shared<PerfMap>(std::move(origin))});
  if (known_.size() > kMaxProcesses) known_.pop_back();
}

std::shared_ptr<PerfMap> PerfMapRegistry::find(std::uint32_t pid) const {
  const std::lock_guard lock(mutex_);
  for (const Known& known : known_)
    if (known.pid == pid) return known.map;
  return nullptr;
}

}  // namespace gpuprof::symbols
