// SPDX-License-Identifier: Apache-2.0
//
// Whether a daemon that says nothing is still at work.
//
// Context:  cli
#include "cli/session/daemon_watchdog.hpp"

namespace gpuprof::cli {

DaemonWatchdog::State DaemonWatchdog::observe(const Observation& look) {
  const bool worked = look.cpu_ticks != cpu_ticks_;
  cpu_ticks_ = look.cpu_ticks;
  stopped_ = look.stopped ? stopped_ + 1 : 0;
  idle_ = look.busy || worked ? 0 : idle_ + 1;
  if (stopped_ >= kStoppedPolls) return State::kStopped;
  return idle_ >= kHungPolls ? State::kHung : State::kAlive;
}

}  // namespace gpuprof::cli
