// SPDX-License-Identifier: Apache-2.0
//
// gpuprof capture: another window of processes that have the library in them.
//
// Context:  cli
#include <string>
#include <vector>

#include "cli/command_table.hpp"
#include "cli/session/capture_session.hpp"
#include "cli/target/target_selection.hpp"
#include "support/process/write_error_signals.hpp"

namespace gpuprof::cli {

support::Result<int> capture_command(Options& options) {
  support::ignore_write_signals();
  GPUPROF_TRY(meant, processes_by_door(options, "capture"));
  std::vector<Found> processes;
  std::vector<std::string> busy;
  for (const Found& one : meant.found) {
    const auto is_free = not_recorded_now(one);
    if (!is_free && !options.all) return is_free.error();
    if (is_free)
      processes.push_back(one);
    else
      busy.push_back(is_free.error().sentence);
  }
  if (processes.empty()) return support::error(busy.front());
  GPUPROF_TRY(session, CaptureSession::open(options));
  for (const std::string& sentence : busy) session->remark(sentence);
  for (const std::string& sentence : notes_of(meant)) session->remark(sentence);
  for (const std::string& sentence : meant.left_out) session->failure(sentence);
  for (const Found& one : processes) session->add(one.door, one.named && !options.by_rules, false);
  return session->finish(options);
}

}  // namespace gpuprof::cli
