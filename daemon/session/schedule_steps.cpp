// SPDX-License-Identifier: Apache-2.0
//
// Schedules in steps: the provisional window before the first step, borders sent ahead, windows
// of whole steps.
//
// Context:  daemon (ingest thread)
// Owns:     see schedule.hpp
#include <algorithm>

#include "daemon/session/schedule.hpp"

namespace gpuprof::session {

using wire::AgentState;

namespace {

constexpr std::size_t kMostBegins = 65'536;
/// The rate is taken over at least this long, so that one odd step does not move borders.
constexpr std::uint64_t kRateSpanNs = 20'000'000;
/// A window whose last step has ended waits this long for the begin of the next one.
constexpr std::uint64_t kNextStepNs = 250'000'000;

std::string steps_text(std::uint64_t first, std::uint64_t count) {
  if (count == 1) return "step " + std::to_string(first);
  return "steps " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

}  // namespace

// Recording runs until five seconds after the first launch. A program that has launched nothing
// by the time-out stops recording but goes on counting: its steps may still come.
void Schedule::tick_provisional(std::uint64_t now_ns) {
  const std::uint64_t timeout_ns = start_ns_ + options_.step_timeout_ns;
  const std::uint64_t over_ns = activity_ns_ != 0
                                    ? activity_ns_ + kProvisionalNs
                                    : std::max(timeout_ns, start_ns_ + kProvisionalNs);
  if (plan_.mode == AgentState::kRecording && now_ns >= over_ns)
    plan_.mode = plan_.follower_mode = AgentState::kCounting;
  const std::uint64_t give_up_ns = activity_ns_ != 0 ? std::max(timeout_ns, over_ns) : wire::kNever;
  if (now_ns >= give_up_ns) {
    finish_provisional(now_ns);
    return become_done();
  }
  deadline_ns_ = plan_.mode == AgentState::kRecording ? std::min(over_ns, give_up_ns) : give_up_ns;
}

void Schedule::finish_provisional(std::uint64_t now_ns) {
  const std::string why = has_step_source_
                              ? "No step was seen (--step " + options_.step + ")"
                              : "This version finds steps only where --step names them "
                                "(nvtx:NAME or kernel:REGEX), so none were counted";
  if (options_.on_no_step != "time") {
    remarks_.emplace_back("steps", why + "; nothing was recorded, as --on-no-step none asks.");
    return;
  }
  const std::uint64_t from = activity_ns_ != 0 ? activity_ns_ : start_ns_;
  model::Window window;
  window.start_ns = from;
  window.end_ns = std::max(from, std::min(now_ns, from + kProvisionalNs));
  window.why = "no step seen";
  close(window);
  remarks_.emplace_back("steps", why + "; the file holds the first 5 s after the " +
                                     (activity_ns_ != 0 ? "first launch" : "start of the program") +
                                     " instead.");
}

void Schedule::learn_rate(std::uint64_t number, std::uint64_t ts_ns) {
  if (!steps_seen_ || ts_ns <= rate_from_ns_) {
    rate_from_ = number;
    rate_from_ns_ = ts_ns;
  } else if (ts_ns - rate_from_ns_ >= kRateSpanNs || step_ns_ == 0) {
    step_ns_ = std::max<std::uint64_t>(1, (ts_ns - rate_from_ns_) / (number - rate_from_));
    if (ts_ns - rate_from_ns_ >= kRateSpanNs) {
      rate_from_ = number;
      rate_from_ns_ = ts_ns;
    }
  }
  steps_seen_ = true;
  last_ = Begin{number, ts_ns};
}

// The provisional window is thrown away. Recording stays on if the first window begins soon.
void Schedule::first_step(std::uint64_t number, std::uint64_t) {
  state_ = State::kRunning;
  deadline_ns_ = wire::kNever;
  while (turn(turn_).end <= number) ++turn_;
  plan_.on_step = plan_.mode == AgentState::kRecording ? 0 : wire::kNever;
  plan_.mode = AgentState::kCounting;
  replan();
}

std::uint64_t Schedule::lead_steps() const {
  return step_ns_ == 0 ? 1 : (kLeadNs + step_ns_ - 1) / step_ns_;
}

std::uint64_t Schedule::on_border(const Turn& turn) const {
  const std::uint64_t lead = lead_steps();
  return std::min(turn.on, turn.active > lead ? turn.active - lead : 0);
}

// Windows closer to each other than the lead are recorded through: switching off and on again
// would cost more than it saves and could come late.
void Schedule::replan() {
  planned_step_ns_ = step_ns_;
  const Turn now = turn(turn_);
  std::uint64_t on = on_border(now), off = now.end;
  const std::uint64_t lead = lead_steps();
  const bool is_on = plan_.on_step <= last_.number;
  if (is_on && on <= last_.number + lead) on = plan_.on_step;
  for (std::uint64_t next = turn_; off != wire::kNever && !last_turn(next);) {
    const Turn after = turn(++next);
    if (on_border(after) > off + lead) break;
    off = next - turn_ > 1000 ? wire::kNever : after.end;
  }
  plan_.on_step = on;
  plan_.off_step = off;
}

void Schedule::follow(std::uint64_t now_ns) {
  std::uint64_t expected = last_.number;
  if (step_ns_ != 0 && now_ns > last_.ts_ns)
    expected += std::min((now_ns - last_.ts_ns) / step_ns_, std::uint64_t{1});
  const bool wanted = expected + lead_steps() >= plan_.on_step && last_.number < plan_.off_step;
  plan_.follower_mode = wanted ? AgentState::kRecording : AgentState::kCounting;
}

void Schedule::step_in_window(std::uint64_t number, std::uint64_t ts_ns) {
  if (planned_step_ns_ == 0 && step_ns_ != 0) replan();
  const Turn now = turn(turn_);
  if (state_ == State::kRunning && number >= now.active && number < now.end) {
    state_ = State::kInWindow;
    begins_.clear();
    first_settled_ = false;
  }
  if (state_ == State::kInWindow) {
    if (number >= now.end) {
      settle_first();
      const std::uint64_t end = std::min(window_first_.number + (now.end - now.active),
                                         last_turn(turn_) ? wire::kNever : turn(turn_ + 1).active);
      // Recording began late and there is room: the window moves by that much.
      if (number < end && number < plan_.off_step) {
        begins_.push_back(Begin{number, ts_ns});
      } else {
        close_steps(number, ts_ns);
        next_turn();
        if (state_ != State::kDone) return step_in_window(number, ts_ns);
      }
    } else if (begins_.size() < kMostBegins) {
      begins_.push_back(Begin{number, ts_ns});
    }
  } else if (state_ == State::kRunning && number >= now.end) {
    next_turn();  // its marks were lost
    if (state_ != State::kDone) return step_in_window(number, ts_ns);
  }
  if (state_ != State::kDone) follow(ts_ns);
}

/// The first step that lies wholly in what was recorded.
void Schedule::settle_first() {
  if (first_settled_ || begins_.empty()) return;
  first_settled_ = true;
  window_first_ = begins_.front();
  for (const Begin& begin : begins_) {
    window_first_ = begin;
    if (begin.ts_ns >= recording_on_ns_) break;
  }
  const Turn now = turn(turn_);
  if (window_first_.number == now.active) return;
  if (now.end != wire::kNever && plan_.off_step == now.end)
    plan_.off_step = last_turn(turn_) ? window_first_.number + (now.end - now.active)
                                      : std::min(window_first_.number + (now.end - now.active),
                                                 turn(turn_ + 1).active);
}

void Schedule::close_steps(std::uint64_t end_number, std::uint64_t end_ns) {
  settle_first();
  const Turn asked = turn(turn_);
  model::Window window;
  window.start_ns = window_first_.ts_ns;
  window.end_ns = end_ns;
  window.first_step = window_first_.number;
  window.steps = end_number - window_first_.number;
  window.why = "schedule";
  const std::uint64_t wanted = asked.end == wire::kNever ? window.steps : asked.end - asked.active;
  if (window.first_step != asked.active || window.steps != wanted)
    remarks_.emplace_back(
        "window " + std::to_string(index_),
        "Window " + std::to_string(index_) + " holds " +
            steps_text(window.first_step, window.steps) + " instead of " +
            steps_text(asked.active, wanted) +
            (window.first_step != asked.active ? ": recording was not on yet at its first step."
                                               : ": the program ended."));
  close(window);
}

void Schedule::next_turn() {
  begins_.clear();
  first_settled_ = false;
  deadline_ns_ = wire::kNever;
  if (last_turn(turn_)) return become_done();
  ++turn_;
  state_ = State::kRunning;
  replan();
}

void Schedule::tick_steps(std::uint64_t now_ns) {
  if (state_ != State::kRunning && state_ != State::kInWindow) return;
  const std::uint64_t drift =
      step_ns_ > planned_step_ns_ ? step_ns_ - planned_step_ns_ : planned_step_ns_ - step_ns_;
  if (planned_step_ns_ != 0 && drift * 4 > planned_step_ns_) replan();
  const Turn now = turn(turn_);
  if (state_ == State::kInWindow && recording_on_ns_ != 0 && !begins_.empty() &&
      begins_.back().ts_ns >= recording_on_ns_)
    settle_first();
  follow(now_ns);
  // The last step has ended and no other begins (validation, saving): do not wait for it.
  const std::uint64_t end =
      first_settled_ && window_first_.number > now.active ? plan_.off_step : now.end;
  if (state_ == State::kInWindow && last_ended_ + 1 == end && last_.number + 1 == end) {
    deadline_ns_ = last_ended_ns_ + kNextStepNs;
    if (now_ns >= deadline_ns_) {
      close_steps(end, last_ended_ns_);
      next_turn();
    }
  }
}

void Schedule::finish_steps(std::uint64_t now_ns) {
  if (state_ != State::kInWindow || begins_.empty()) {
    if (index_ == 0)
      remarks_.emplace_back("steps", "The program ended after step " +
                                         std::to_string(last_.number) +
                                         ", before the first window was due (step " +
                                         std::to_string(turn(0).active) + ").");
    return;
  }
  settle_first();
  const bool ended = last_ended_ == last_.number;
  const std::uint64_t end_number = ended ? last_.number + 1 : last_.number;
  if (end_number > window_first_.number)
    return close_steps(end_number, ended ? last_ended_ns_ : last_.ts_ns);
  if (index_ != 0) return;  // no whole step, and earlier windows have some
  model::Window window;
  window.start_ns = window_first_.ts_ns;
  window.end_ns = now_ns;
  window.first_step = window_first_.number;
  window.why = "program ended inside the step";
  remarks_.emplace_back("window " + std::to_string(index_),
                        "Window " + std::to_string(index_) + " holds a part of step " +
                            std::to_string(window_first_.number) +
                            ": the program ended inside it.");
  close(window);
}

}  // namespace gpuprof::session
