// SPDX-License-Identifier: Apache-2.0
//
// Schedules in time: windows by the clock, moved to the next step border where steps are known.
//
// Context:  daemon (ingest thread)
#include <fmt/format.h>

#include <algorithm>

#include "daemon/messages/schedule.hpp"
#include "daemon/session/schedule/schedule.hpp"

namespace gpuprof::session {

using wire::AgentState;

namespace {

/// A border waits this long for a step to begin, then is cut by the clock after all.
constexpr std::uint64_t kMaxWaitNs = 1'000'000'000;
/// A running process may need this long to switch everything on; then its time runs all the same.
constexpr std::uint64_t kMaxOnNs = 5'000'000'000;

}  // namespace

void Schedule::start_time(std::uint64_t now_ns) {
  plan_.mode = plan_.follower_mode = AgentState::kCounting;
  tick_time(now_ns);
}

// kRunning: before the window; kInWindow: in it; kClosing: its time is over, a step still runs.
void Schedule::tick_time(std::uint64_t now_ns) {
  if (state_ == State::kDone || state_ == State::kNotStarted) return;
  const Cycle now = cycle(cycle_);
  const std::uint64_t active_ns = start_ns_ + now.active;
  const std::uint64_t on_ns =
      std::min(start_ns_ + now.on, active_ns - std::min(active_ns, kLeadNs));
  if (state_ == State::kRunning) {
    if (now_ns >= on_ns) plan_.mode = plan_.follower_mode = AgentState::kRecording;
    deadline_ns_ = now_ns >= on_ns ? active_ns : on_ns;
    if (now_ns < active_ns) return;
    if (awaits_recording(active_ns, now_ns)) {
      deadline_ns_ = active_ns + kMaxOnNs;
      return;
    }
    if (steps_seen_ && last_.ts_ns < active_ns && now_ns < active_ns + kMaxWaitNs) {
      deadline_ns_ = active_ns + kMaxWaitNs;
      return;
    }
    state_ = State::kInWindow;
    window_start_ns_ = std::max(active_ns, recording_on_ns() > active_ns ? recording_on_ns() : 0);
    window_start_step_ = wire::kNever;
    count_from(window_start_ns_, active_ns);
  }
  const std::uint64_t end_ns = now.end == wire::kNever ? wire::kNever : start_ns_ + now.end;
  deadline_ns_ = end_ns;
  if (now_ns < end_ns) return;
  const bool wait = steps_seen_ && last_ended_ != last_.number && now_ns < end_ns + kMaxWaitNs;
  deadline_ns_ = end_ns + kMaxWaitNs;
  if (!wait) close_time(end_ns, wire::kNever);
}

// Of a process that runs already nothing is recorded yet when the window is due.
bool Schedule::awaits_recording(std::uint64_t active_ns, std::uint64_t now_ns) const {
  return options_.running_processes && !finishing_ && recording_on_ns() == 0 &&
         now_ns < active_ns + kMaxOnNs;
}

// A second that was asked for is a second recorded.
void Schedule::count_from(std::uint64_t recording_ns, std::uint64_t due_ns) {
  if (options_.running_processes && recording_ns > due_ns) start_ns_ += recording_ns - due_ns;
}

void Schedule::step_in_time(std::uint64_t number, std::uint64_t ts_ns) {
  const Cycle now = cycle(cycle_);
  const std::uint64_t end_ns = now.end == wire::kNever ? wire::kNever : start_ns_ + now.end;
  if (state_ == State::kRunning && ts_ns >= start_ns_ + now.active && ts_ns >= recording_on_ns() &&
      !awaits_recording(start_ns_ + now.active, ts_ns)) {
    count_from(recording_on_ns(), start_ns_ + now.active);
    state_ = State::kInWindow;
    window_start_ns_ = ts_ns;
    window_start_step_ = number;
    return;
  }
  if (state_ == State::kInWindow && ts_ns >= end_ns) close_time(ts_ns, number);
}

void Schedule::close_time(std::uint64_t end_ns, std::uint64_t end_step) {
  model::Window window;
  window.start_ns = window_start_ns_;
  window.end_ns = std::max(end_ns, window_start_ns_);
  if (window_start_step_ != wire::kNever && end_step != wire::kNever) {
    window.first_step = window_start_step_;
    window.first_label = label(window_start_step_);
    window.steps = end_step - window_start_step_;
  }
  window.why = why_;
  close(window);
  if (is_last_cycle(cycle_)) return set_done();
  ++cycle_;
  state_ = State::kRunning;
  const Cycle next = cycle(cycle_);
  const std::uint64_t on_ns =
      start_ns_ + std::min(next.on, next.active - std::min(next.active, kLeadNs));
  if (on_ns > end_ns + kLeadNs) plan_.mode = plan_.follower_mode = AgentState::kCounting;
  deadline_ns_ = on_ns;
}

void Schedule::finish_time(std::uint64_t now_ns) {
  finishing_ = true;
  if (state_ == State::kRunning) tick_time(now_ns);
  if (state_ == State::kInWindow) {
    const std::uint64_t end = cycle(cycle_).end;
    if (end != wire::kNever && now_ns >= start_ns_ + end) why_ = "schedule";
    const bool ended = window_start_step_ != wire::kNever && last_ended_ == last_.number;
    return close_time(now_ns, ended ? last_.number + 1 : wire::kNever);
  }
  if (index_ == 0)
    remarks_.emplace_back(
        "window", fmt::format(messages::schedule::kEndedBeforeTime, subject(),
                              (now_ns - start_ns_) / 1'000'000, cycle(0).active / 1'000'000));
}

}  // namespace gpuprof::session
