// SPDX-License-Identifier: Apache-2.0
//
// The schedule of a recording of processes that run already.
//
// Context:  cli; pure
#include "cli/session/capture_schedule.hpp"

#include <cstdint>
#include <string>

#include "cli/messages/session_capture.hpp"

namespace gpuprof::cli {
namespace {

using support::error;

constexpr std::uint64_t kDefaultLengthNs = 5'000'000'000;

bool found_among_operators(const std::string& step) {
  return step == "auto" || step == "optimizer" || step.rfind("loop", 0) == 0;
}

}  // namespace

support::Result<void> resolve_capture_schedule(Options& options) {
  options.session.running_processes = true;
  recording::ScheduleOptions& schedule = options.session.schedule;
  schedule.given = true;
  schedule.repeat = options.repeat.value_or(1);
  using Unit = recording::Extent::Unit;
  const bool at_once = schedule.skip_first.value + schedule.wait.value + schedule.warmup.value == 0;
  // The step that runs when we come is none to record; of steps with marks of their own the first
  // one seen is whole.
  if (schedule.active.unit == Unit::kSteps && at_once &&
      found_among_operators(options.session.step))
    schedule.skip_first = {Unit::kSteps, 1};
  if (schedule.active.unit != Unit::kNone) return {};
  for (const recording::Extent* part : {&schedule.skip_first, &schedule.wait, &schedule.warmup})
    if (part->unit == recording::Extent::Unit::kSteps)
      return error(messages::session_capture::kNoNumberOfSteps);
  schedule.active = {recording::Extent::Unit::kTime, kDefaultLengthNs};
  return {};
}

}  // namespace gpuprof::cli
