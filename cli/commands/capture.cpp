// SPDX-License-Identifier: Apache-2.0
//
// gpuprof capture: another window of processes that have the library in them.
//
// Context:  cli
#include <string>
#include <vector>

#include "cli/options/command_table.hpp"
#include "cli/session/capture_session.hpp"
#include "cli/target/target_selection.hpp"
#include "support/process/write_error_signals.hpp"

namespace gpuprof::cli {

support::Result<int> capture_command(Options& options) {
  support::ignore_write_error_signals();
  GPUPROF_TRY(meant, select_processes(options, "capture"));
  std::vector<SelectedProcess> processes;
  std::vector<std::string> busy;
  for (const SelectedProcess& one : meant.selected) {
    const auto is_free = check_not_recording(one);
    if (!is_free && !options.all) return is_free.error();
    if (is_free)
      processes.push_back(one);
    else
      busy.push_back(is_free.error().message);
  }
  if (processes.empty()) return support::error(busy.front());
  GPUPROF_TRY(session, CaptureSession::open(options));
  for (const std::string& message : busy) session->add_note(message);
  for (const std::string& message : selection_notes(meant)) session->add_note(message);
  for (const std::string& message : meant.unresponsive) session->add_failure(message);
  for (const SelectedProcess& one : processes)
    session->add(one.control_socket, one.named && !options.use_role_rules, false);
  return session->finish(options);
}

}  // namespace gpuprof::cli
