// SPDX-License-Identifier: Apache-2.0
//
// What /proc says of other processes.
//
// Context:  daemon | cli
#include "support/process/procfs.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>

#include "gpuprof/base/bytes.hpp"
#include "support/io/files.hpp"
#include "support/text/text.hpp"

namespace gpuprof::support {
namespace {

// Fields after the name in brackets, counted from the state.
constexpr std::size_t kState = 0, kParent = 1, kUserTime = 11, kSystemTime = 12, kThreads = 17;

std::uint64_t to_number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Names of a folder that are numbers.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  while (open != nullptr) {
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    numbers.push_back(static_cast<pid_t>(to_number(entry->d_name)));
  }
  return numbers;
}

}  // namespace

ProcessStat parse_process_stat(std::string_view line) {
  ProcessStat stat;
  // The name may hold blanks and brackets itself.
  const std::size_t bracket = line.rfind(") ");
  if (bracket == std::string_view::npos) return stat;
  const std::vector<std::string> fields = split(line.substr(bracket + 2), ' ');
  if (fields.size() <= kSystemTime || fields[kState].empty()) return stat;
  stat.exists = true;
  stat.state = fields[kState][0];
  stat.parent = static_cast<pid_t>(to_number(fields[kParent]));
  stat.cpu_ticks = to_number(fields[kUserTime]) + to_number(fields[kSystemTime]);
  if (fields.size() > kThreads) stat.threads = to_number(fields[kThreads]);
  return stat;
}

ProcessStat process_stat(pid_t pid) {
  return parse_process_stat(read_small_file(fmt::format("/proc/{}/stat", pid)));
}

bool has_ended(pid_t pid) {
  const ProcessStat stat = process_stat(pid);
  return !stat.exists || ((stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1);
}

// Of addresses that the kernel chose when it started the program.
std::uint32_t exec_fingerprint(pid_t pid) {
  const std::string selected = read_small_file(fmt::format("/proc/{}/auxv", pid));
  if (selected.empty()) return 0;
  return static_cast<std::uint32_t>(base::hash_bytes(selected.data(), selected.size())) | 1;
}

bool has_execed(pid_t pid, std::uint32_t mark) {
  const std::uint32_t now = exec_fingerprint(pid);
  return now != 0 && mark != 0 && now != mark;
}

bool any_thread_runnable(pid_t pid) {
  for (const pid_t thread : numbers_in(fmt::format("/proc/{}/task", pid))) {
    const char state =
        parse_process_stat(read_small_file(fmt::format("/proc/{}/task/{}/stat", pid, thread)))
            .state;
    if (state == 'R' || state == 'D') return true;
  }
  return false;
}

std::optional<std::uint64_t> thread_runtime_ns(pid_t pid, pid_t thread) {
  const std::string text = read_small_file(fmt::format("/proc/{}/task/{}/schedstat", pid, thread));
  std::uint64_t ns = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), ns);
  if (read.ec != std::errc()) return {};
  return ns;
}

std::vector<std::pair<pid_t, ProcessStat>> all_processes() {
  std::vector<std::pair<pid_t, ProcessStat>> all;
  for (const pid_t pid : numbers_in("/proc"))
    if (const ProcessStat stat = process_stat(pid); stat.exists) all.emplace_back(pid, stat);
  return all;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  // Not /proc/PID/task/TID/children: many kernels are built without it.
  for (const auto& [pid, stat] : all_processes())
    if (stat.parent == parent) children.push_back(pid);
  return children;
}

}  // namespace gpuprof::support
