// SPDX-License-Identifier: Apache-2.0
//
// gpuprof status: processes with the library in them.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/messages/command_processes.hpp"
#include "cli/options/command_table.hpp"
#include "cli/output/stdout_writer.hpp"
#include "cli/target/target_selection.hpp"
#include "gpuprof/wire/messages.hpp"
#include "support/io/files.hpp"
#include "support/process/write_error_signals.hpp"
#include "support/text/json.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

/// A process as it is listed.
struct StatusRow {
  control::TargetStatus status;
  std::string command;
  std::vector<std::string> can;  // what it can record
};

/// A command may hold a whole script: one row all the same.
std::string in_one_row(std::string command) {
  for (char& c : command)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return command.substr(0, command.find_last_not_of(' ') + 1);
}

std::string command_of(std::uint32_t pid) {
  std::string line = support::read_small_file(fmt::format("/proc/{}/cmdline", pid));
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

/// From what is mapped there: what may come later is not promised.
std::vector<std::string> recordable_sources(const control::TargetStatus& status) {
  const std::string maps =
      support::read_small_file(fmt::format("/proc/{}/maps", status.control_socket.pid));
  const auto has = [&maps](const char* name) { return maps.find(name) != std::string::npos; };
  std::vector<std::string> can;
  if (status.cuda || has("/libcuda.so")) can.emplace_back("cuda");
  if (status.nvtx) can.emplace_back("nvtx");
  if (has("/libtorch_cpu.so")) can.emplace_back("torch");
  if (has("/libpython3") || has("/python3")) can.emplace_back("python");
  can.emplace_back("native");
  return can;
}

StatusRow listed(const control::TargetStatus& status) {
  return {status, command_of(status.control_socket.pid), recordable_sources(status)};
}

/// One that does not answer (stopped, say) is listed all the same.
std::optional<control::TargetStatus> query_status(const control::ControlSocket& control_socket) {
  bool is_there = false;
  const auto status = control::request_status(control_socket, &is_there);
  if (status) return status.value();
  if (!is_there && !control::is_listening(control_socket)) return {};  // ended since it was found
  control::TargetStatus silent;
  silent.control_socket = control_socket;
  silent.state = "no answer";
  return silent;
}

support::Result<std::vector<StatusRow>> collect_rows(const Options& options) {
  std::vector<StatusRow> all;
  if (!options.arguments.empty()) {
    GPUPROF_TRY(meant, select_processes(options, "status"));
    print_selection_notes(meant);
    for (const control::TargetStatus& one : meant.selected) all.push_back(listed(one));
    return all;
  }
  for (const control::ControlSocket& control_socket : control::find_control_sockets())
    if (const auto status = query_status(control_socket); status) all.push_back(listed(*status));
  return all;
}

/// Share of one processor the worker thread has used since it came to life.
double overhead_percent(const control::TargetStatus& s) {
  return s.age_ns == 0
             ? 0
             : 100.0 * static_cast<double>(s.worker_cpu_ns) / static_cast<double>(s.age_ns);
}

/// What is left out under --max-overhead.
std::vector<std::string> left_out(std::uint32_t less) {
  std::vector<std::string> words;
  const std::pair<std::uint32_t, const char*> kWords[] = {
      {wire::kThrottleStacks, "stacks"},
      {wire::kThrottleApi, "calls and inputs"},
      {wire::kThrottleHost, "operators and ranges"},
      {wire::kThrottleSteps, "steps"}};
  for (const auto& [bit, word] : kWords)
    if ((less & bit) != 0) words.emplace_back(word);
  if ((less & wire::kThrottleSamples) != 0)
    words.emplace_back("samples");
  else if (const std::uint32_t halvings = wire::rate_halvings(less); halvings != 0)
    words.push_back(fmt::format("{} of {} samples", (1u << halvings) - 1, 1u << halvings));
  return words;
}

std::string json_of(const std::vector<StatusRow>& all) {
  support::JsonWriter json;
  json.begin_array();
  for (const auto& [s, command, can] : all) {
    json.begin_object();
    json.member("pid", std::uint64_t{s.control_socket.pid}).member("name", s.name);
    json.member("state", s.state).member("in_session", s.in_session);
    json.member("daemon_pid", s.daemon_pid).member("attached", s.attached);
    json.member("can_record", can).member("steps", s.steps).member("dropped", s.dropped);
    json.member("left_out", left_out(s.reduced));
    json.member("worker_cpu_ns", s.worker_cpu_ns).member("age_ns", s.age_ns);
    json.member("command", command).end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

std::string table_of(const std::vector<StatusRow>& all) {
  if (all.empty()) return fmt::format("{}\n", messages::command_processes::kNoProcess);
  constexpr std::size_t kCommandWidth = 60;
  std::string text =
      fmt::format("{:>8}  {:<12} {:<10} {:>9} {:>8} {:>9}  {:<26} {}\n", "PID", "NAME", "STATE",
                  "STEPS", "DROPPED", "OWN CPU", "CAN RECORD", "COMMAND");
  for (const auto& [s, command, can] : all)
    text +=
        fmt::format("{:>8}  {:<12} {:<10} {:>9} {:>8} {:>8.2f}%  {:<26} {}\n", s.control_socket.pid,
                    s.name.empty() ? "-" : s.name, s.state, s.steps, s.dropped, overhead_percent(s),
                    support::join(can, ","), in_one_row(command.substr(0, kCommandWidth)));
  for (const StatusRow& one : all)
    if (one.status.reduced != 0)
      text +=
          fmt::format(messages::command_processes::kOverheadLimit, one.status.control_socket.pid,
                      support::join(left_out(one.status.reduced), ", ")) +
          "\n";
  return text;
}

}  // namespace

support::Result<int> status_command(Options& options) {
  support::ignore_write_error_signals();
  GPUPROF_TRY(all, collect_rows(options));
  const std::string text =
      options.json ? json_of(all) : support::sanitize_for_terminal(table_of(all));
  GPUPROF_CHECK(write_stdout(text, "the status"));
  return 0;
}

}  // namespace gpuprof::cli
