// SPDX-License-Identifier: Apache-2.0
//
// gpuprof stop and gpuprof detach: what is asked of processes at their control sockets.
//
// Context:  cli
#include <cstddef>
#include <optional>

#include "cli/messages/command_processes.hpp"
#include "cli/options/command_table.hpp"
#include "cli/target/target_selection.hpp"

namespace gpuprof::cli {
namespace {

/// Whether nobody records it any more: a session ends for all its processes at once.
bool session_has_ended(const control::ControlSocket& control_socket) {
  bool silent = false;
  const auto status = control::request_status(control_socket, &silent);
  return status ? check_not_recording(status.value()).ok() : !silent;
}

}  // namespace

support::Result<int> stop_command(Options& options) {
  GPUPROF_TRY(meant, select_processes(options, "stop"));
  print_selection_notes(meant);
  std::optional<support::Error> first = unresponsive_error(meant);
  std::size_t stopped = 0;
  for (const control::TargetStatus& one : meant.selected) {
    const bool was_recorded = !check_not_recording(one);
    if (!was_recorded && options.all) continue;
    const auto answer = control::request_stop(one.control_socket);
    if (answer || (was_recorded && session_has_ended(one.control_socket)))
      ++stopped;
    else if (!first)
      first = answer.error();
  }
  if (first) return *first;
  if (stopped == 0) return support::error(messages::command_processes::kNoneIsRecorded);
  return 0;
}

support::Result<int> detach_command(Options& options) {
  GPUPROF_TRY(meant, select_processes(options, "detach"));
  print_selection_notes(meant);
  std::optional<support::Error> first = unresponsive_error(meant);
  for (const control::TargetStatus& one : meant.selected) {
    const auto answer = control::request_detach(one.control_socket);
    if (!answer && !first) first = answer.error();
  }
  if (first) return *first;
  return 0;
}

}  // namespace gpuprof::cli
