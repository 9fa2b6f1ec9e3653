// SPDX-License-Identifier: Apache-2.0
//
// The processes a capture is of.
//
// Context:  serve
#include "serve/target_processes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/control/control_sockets.hpp"
#include "gpuprof/wire/messages.hpp"
#include "support/io/files.hpp"
#include "support/process/procfs.hpp"
#include "support/text/text.hpp"

namespace gpuprof::serve {
namespace {

constexpr int kMaxGenerations = 256;

template <typename T>
bool holds(const std::vector<T>& list, const T& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

/// Where a program writes its title over its environment (setproctitle) only its parents tell.
bool is_descendant(std::uint32_t pid, std::uint32_t program) {
  auto at = static_cast<pid_t>(pid);
  for (int i = 0; i < kMaxGenerations && at > 1; ++i) {
    if (static_cast<std::uint32_t>(at) == program) return true;
    at = support::process_stat(at).parent;
  }
  return false;
}

bool is_of_program(std::uint32_t pid, std::uint32_t program) {
  const std::string environment = support::read_small_file(fmt::format("/proc/{}/environ", pid));
  const int reported = environment_names_program(environment, program);
  return reported < 0 ? is_descendant(pid, program) : reported == 1;
}

bool selected_by_id(const ProcessFilter& choice, std::uint32_t pid) {
  if (choice.all) return true;
  if (choice.program != 0) return is_of_program(pid, choice.program);
  return holds(choice.pids, pid);
}

}  // namespace

int environment_names_program(const std::string& environment, std::uint32_t program) {
  const std::string start = std::string(wire::kSocketVariable) + "=";
  for (const std::string& word : support::split(environment, '\0')) {
    if (!word.starts_with(start)) continue;
    return holds(support::split(word, ';'), fmt::format("pid={}", program)) ? 1 : 0;
  }
  return -1;
}

TargetProcesses find_target_processes(const ProcessFilter& choice) {
  TargetProcesses members;
  for (const control::ControlSocket& control_socket : control::find_control_sockets()) {
    const bool by_id = selected_by_id(choice, control_socket.pid);
    if (!by_id && choice.names.empty()) continue;
    const std::uint32_t program = support::exec_fingerprint(static_cast<pid_t>(control_socket.pid));
    const auto status = control::request_status(control_socket);
    if (!status) {
      if (by_id) {
        members.failure = status.error().message;
        members.failure_pid = control_socket.pid;
      }
      continue;
    }
    if (!by_id && !holds(choice.names, status.value().name)) continue;
    const bool busy = status.value().in_session && status.value().state != "armed";
    if (busy)
      members.busy.push_back(control_socket.pid);
    else
      members.idle.push_back({control_socket.pid, program});
  }
  return members;
}

}  // namespace gpuprof::serve
