// SPDX-License-Identifier: Apache-2.0
//
// What all schedules share: which sort it is, its turns, and the two that need no borders.
//
// Context:  daemon (ingest thread)
#include "daemon/session/schedule/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/messages/schedule.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {

using recording::Extent;
using wire::AgentState;

namespace {

constexpr std::size_t kMaxIntervals = 64;

// Of steps and ns: sums and multiples below it are numbers. Whoever asks for more waits as long.
constexpr std::uint64_t kMax = std::uint64_t{1} << 56;

recording::SessionOptions clamped(recording::SessionOptions options) {
  recording::ScheduleOptions& s = options.schedule;
  for (Extent* extent : {&s.skip_first, &s.wait, &s.warmup, &s.active})
    extent->value = std::min(extent->value, kMax);
  return options;
}

}  // namespace

Schedule::Kind Schedule::kind_of(const recording::SessionOptions& options, bool has_step_source) {
  if (options.armed) return Kind::kArmed;
  const recording::ScheduleOptions& s = options.schedule;
  if (!s.given) return Kind::kWholeRun;
  for (const Extent* extent : {&s.skip_first, &s.wait, &s.warmup, &s.active})
    if (extent->unit == Extent::Unit::kSteps) return Kind::kSteps;
  for (const Extent* extent : {&s.skip_first, &s.wait, &s.warmup, &s.active})
    if (extent->unit == Extent::Unit::kTime) return Kind::kTime;
  (void)has_step_source;
  return Kind::kWholeRun;
}

Schedule::Schedule(const recording::SessionOptions& options, bool has_step_source,
                   bool among_operators)
    : options_(clamped(options)),
      has_step_source_(has_step_source),
      among_operators_(among_operators),
      kind_(kind_of(options, has_step_source)) {}

Schedule::Cycle Schedule::cycle(std::uint64_t index) const {
  const recording::ScheduleOptions& s = options_.schedule;
  const std::uint64_t length = s.wait.value + s.warmup.value + s.active.value;
  const std::uint64_t base = s.skip_first.value + index * length + s.wait.value;
  const std::uint64_t active = base + s.warmup.value;
  const bool endless = s.active.unit == Extent::Unit::kNone || s.active.value == 0;
  return Cycle{base, active, endless ? wire::kNever : active + s.active.value};
}

bool Schedule::is_last_cycle(std::uint64_t index) const {
  return cycle(index).end == wire::kNever ||
         (options_.schedule.repeat != 0 && index + 1 >= options_.schedule.repeat);
}

void Schedule::close(model::Window window) {
  window.index = index_++;
  // The moments are a process's, and it may tell of them in any order.
  window.end_ns = std::max(window.start_ns, window.end_ns);
  windows_.push_back(std::move(window));
}

void Schedule::set_done() {
  report_missed();
  state_ = State::kDone;
  plan_ = AgentPlan{};
  deadline_ns_ = wire::kNever;
}

void Schedule::start(std::uint64_t now_ns) {
  if (state_ != State::kNotStarted) return;
  start_ns_ = now_ns;
  state_ = State::kRunning;
  switch (kind_) {
    case Kind::kArmed:
      break;
    case Kind::kWholeRun:
      plan_.mode = plan_.follower_mode = AgentState::kRecording;
      state_ = State::kInWindow;
      break;
    case Kind::kTime:
      return start_time(now_ns);
    case Kind::kSteps:
      state_ = State::kProvisional;
      plan_.mode = plan_.follower_mode = options_.on_no_step == "time" || among_operators_
                                             ? AgentState::kRecording
                                             : AgentState::kCounting;
      return tick_provisional(now_ns);
  }
}

void Schedule::first_activity(std::uint64_t ts_ns) {
  if (activity_ns_ == 0) activity_ns_ = ts_ns;
  if (state_ == State::kProvisional) tick_provisional(ts_ns);
}

void Schedule::recording_on(std::uint64_t ts_ns) {
  if (!recorded_.empty() && recorded_.back().off_ns == wire::kNever) {
    recorded_.back().on_ns = ts_ns;  // of another process before this one had steps
    return;
  }
  if (recorded_.size() >= kMaxIntervals) recorded_.erase(recorded_.begin());
  recorded_.push_back({ts_ns, wire::kNever});
}

void Schedule::recording_off(std::uint64_t ts_ns) {
  if (!recorded_.empty() && recorded_.back().off_ns == wire::kNever)
    recorded_.back().off_ns = ts_ns;
}

const Schedule::Interval* Schedule::interval_at(std::uint64_t ts_ns) const {
  const auto one = std::find_if(recorded_.begin(), recorded_.end(), [&](const Interval& interval) {
    return ts_ns >= interval.on_ns && ts_ns < interval.off_ns;
  });
  return one == recorded_.end() ? nullptr : &*one;
}

/// That recording was off before the end after all is nowhere else to be seen: the last step looks
/// as long as it was.
void Schedule::report_truncated(const model::Window& window) {
  const Interval* one = interval_at(window.start_ns);
  if (one == nullptr || one->off_ns >= window.end_ns) return;
  remarks_.emplace_back("window " + std::to_string(index_) + " cut",
                        fmt::format(messages::schedule::kWindowTruncated, index_ + 1,
                                    support::human_duration(window.end_ns - one->off_ns)));
}

// A process that never said a word about it is taken at the plan's.
bool Schedule::recorded(std::uint64_t ts_ns) const {
  return recorded_.empty() || interval_at(ts_ns) != nullptr;
}

void Schedule::step_began(std::uint64_t number, std::uint64_t ts_ns, std::uint64_t label) {
  if (state_ == State::kDone || state_ == State::kNotStarted) return;
  if ((steps_seen_ && number <= last_.number) || number > kMax) return;
  learn_rate(number, ts_ns);
  const bool paused = pause_ && last_ended_ + 1 == number;
  last_ = Begin{number, ts_ns, label, paused ? last_ended_ns_ : ts_ns};
  if (kind_ == Kind::kTime) return step_in_time(number, ts_ns);
  if (kind_ != Kind::kSteps) return;
  if (state_ == State::kProvisional) first_step(number, ts_ns);
  step_in_window(last_);
}

void Schedule::step_ended(std::uint64_t number, std::uint64_t ts_ns, bool pause) {
  pause_ = pause;
  last_ended_ = number;
  last_ended_ns_ = ts_ns;
}

void Schedule::tick(std::uint64_t now_ns) {
  if (state_ == State::kProvisional) return tick_provisional(now_ns);
  if (kind_ == Kind::kTime) return tick_time(now_ns);
  if (kind_ == Kind::kSteps) return tick_steps(now_ns);
}

void Schedule::finish(std::uint64_t now_ns, const std::string& why) {
  if (state_ == State::kDone) return;
  why_ = why;
  // Nobody could be joined, and that is said.
  if (state_ == State::kNotStarted && options_.running_processes) return set_done();
  if (state_ == State::kNotStarted) start_ns_ = now_ns;
  if (kind_ == Kind::kWholeRun) {
    model::Window window;
    window.start_ns = start_ns_;
    window.end_ns = now_ns;
    window.why = "whole run";
    close(window);
  } else if (state_ == State::kProvisional) {
    finish_provisional(now_ns);
  } else if (kind_ == Kind::kTime) {
    finish_time(now_ns);
  } else if (kind_ == Kind::kSteps) {
    finish_steps(now_ns);
  }
  set_done();
}

void Schedule::stop_recording(std::uint64_t now_ns) {
  if (state_ == State::kDone) return;
  finish(now_ns, "maximum size");
}

std::string Schedule::progress_text() const {
  const std::uint64_t repeat = options_.schedule.repeat;
  const std::string window = repeat == 0
                                 ? fmt::format(messages::schedule::kWindow, index_ + 1)
                                 : fmt::format(messages::schedule::kWindowOf, index_ + 1, repeat);
  switch (state_) {
    case State::kNotStarted:
      return messages::schedule::kConnecting;
    case State::kProvisional:
      return messages::schedule::kWaitingForStep;
    case State::kRunning:
      return fmt::format(messages::schedule::kWaitingForWindow, window);
    case State::kInWindow:
    case State::kClosing:
      return fmt::format(messages::schedule::kRecordingWindow, window);
    case State::kDone:
      return messages::schedule::kWritingTrace;
  }
  return "";
}

}  // namespace gpuprof::session
