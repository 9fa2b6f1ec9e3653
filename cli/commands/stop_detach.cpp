// SPDX-License-Identifier: Apache-2.0
//
// gpuprof stop and gpuprof detach: what is asked of processes at their doors.
//
// Context:  cli
#include <cstddef>
#include <optional>

#include "cli/command_table.hpp"
#include "cli/target/target_selection.hpp"

namespace gpuprof::cli {
namespace {

/// Whether nobody records it any more: a session ends for all its processes at once.
bool is_over(const api::Door& door) {
  bool silent = false;
  const auto status = api::ask_status(door, &silent);
  return status ? not_recorded_now(status.value()).ok() : !silent;
}

}  // namespace

support::Result<int> stop_command(Options& options) {
  GPUPROF_TRY(meant, processes_by_door(options, "stop"));
  tell_notes(meant);
  std::optional<support::Error> first = left_out_of(meant);
  std::size_t stopped = 0;
  for (const api::ProcessStatus& one : meant.found) {
    const bool was_recorded = !not_recorded_now(one);
    if (!was_recorded && options.all) continue;
    const auto answer = api::ask_stop(one.door);
    if (answer || (was_recorded && is_over(one.door)))
      ++stopped;
    else if (!first)
      first = answer.error();
  }
  if (first) return *first;
  if (stopped == 0)
    return support::error(
        "nothing is being recorded in any of your processes; `gpuprof status` lists them");
  return 0;
}

support::Result<int> detach_command(Options& options) {
  GPUPROF_TRY(meant, processes_by_door(options, "detach"));
  tell_notes(meant);
  std::optional<support::Error> first = left_out_of(meant);
  for (const api::ProcessStatus& one : meant.found) {
    const auto answer = api::ask_detach(one.door);
    if (!answer && !first) first = answer.error();
  }
  if (first) return *first;
  return 0;
}

}  // namespace gpuprof::cli
