// SPDX-License-Identifier: Apache-2.0
//
// Schedules in steps: the provisional window before the first step, borders sent ahead, windows
// of whole steps.
//
// Context:  daemon (ingest thread)
#include <fmt/format.h>

#include <algorithm>

#include "daemon/messages/schedule.hpp"
#include "daemon/session/schedule/schedule.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {

using wire::AgentState;

namespace {

constexpr std::size_t kMaxBegins = 65'536;
/// The rate is taken over at least this long, so that one odd step does not move borders.
constexpr std::uint64_t kRateSpanNs = 20'000'000;
/// A window whose last step has ended waits this long for the begin of the next one.
constexpr std::uint64_t kNextStepNs = 250'000'000;
/// What a step is is found after some of them: those are to be had only if they were recorded.
/// Importing and building a model may come before, and make operators; so recording goes on for at
/// least this long after the start, and after the provisional window until the choice is made.
constexpr std::uint64_t kSearchNs = 30'000'000'000, kChoiceNs = 500'000'000;

}  // namespace

std::string Schedule::steps_text(std::uint64_t first, std::uint64_t count) const {
  if (count == 1) return fmt::format(messages::schedule::kStep, label(first));
  return fmt::format(messages::schedule::kStepRange, label(first), label(first) + count - 1);
}

// Recording runs until five seconds after the first operator or launch, among operators longer. A
// program that has made none by the time-out stops recording but goes on counting: its steps may
// still come. Of a process that ran already they are not waited for.
void Schedule::tick_provisional(std::uint64_t now_ns) {
  const std::uint64_t timeout_ns = start_ns_ + options_.step_timeout_ns;
  const std::uint64_t over_ns = activity_ns_ != 0
                                    ? activity_ns_ + kProvisionalNs
                                    : std::max(timeout_ns, start_ns_ + kProvisionalNs);
  const std::uint64_t off_ns =
      among_operators_ ? std::max(over_ns + kChoiceNs, start_ns_ + kSearchNs) : over_ns;
  const bool looks = now_ns < look_until_ns_;
  if (now_ns >= off_ns)
    plan_.mode = plan_.follower_mode = looks ? AgentState::kRecording : AgentState::kCounting;
  // A program may import and load for minutes; a process that runs already has done so.
  const bool gives_up = activity_ns_ != 0 || options_.running_processes;
  const std::uint64_t give_up_ns = gives_up ? std::max(timeout_ns, over_ns) : wire::kNever;
  if (now_ns >= give_up_ns) {
    finish_provisional(now_ns);
    return set_done();
  }
  const std::uint64_t next_ns = now_ns < off_ns ? off_ns : look_until_ns_;
  deadline_ns_ = plan_.mode == AgentState::kRecording ? std::min(next_ns, give_up_ns) : give_up_ns;
}

// A very large model is being built.
void Schedule::extend_step_search(std::uint64_t now_ns, bool at_once) {
  if (state_ != State::kProvisional || !among_operators_ || plan_.mode != AgentState::kCounting)
    return;
  if (next_look_ns_ == 0) next_look_ns_ = now_ns + pause_ns_;
  deadline_ns_ = std::min(deadline_ns_, next_look_ns_);
  if (now_ns < next_look_ns_ && !at_once) return;
  look_until_ns_ = now_ns + kRetrySearchNs;
  if (!at_once) pause_ns_ *= 2;
  next_look_ns_ = look_until_ns_ + pause_ns_;
  tick_provisional(now_ns);
}

void Schedule::finish_provisional(std::uint64_t now_ns) {
  const std::string why = has_step_source_
                              ? fmt::format(messages::schedule::kNoStepSeen, options_.step)
                              : messages::schedule::kNoOperators;
  if (options_.on_no_step != "time") {
    remarks_.emplace_back("steps", fmt::format(messages::schedule::kNothingRecorded, why));
    return;
  }
  const std::uint64_t from = activity_ns_ != 0 ? activity_ns_ : start_ns_;
  model::Window window;
  window.start_ns = from;
  window.end_ns = std::max(from, std::min(now_ns, from + kProvisionalNs));
  window.why = "no step seen";
  close(window);
  remarks_.emplace_back("steps", activity_ns_ != 0
                                     ? fmt::format(messages::schedule::kFromFirstActivity, why)
                                     : fmt::format(messages::schedule::kFromStart, why, subject()));
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
}

// Of what was recorded provisionally only the windows in it are kept. Recording stays on if the
// first window begins soon.
void Schedule::first_step(std::uint64_t number, std::uint64_t) {
  state_ = State::kRunning;
  deadline_ns_ = wire::kNever;
  cycle_ += cycles_before(number);
  plan_.on_step = plan_.mode == AgentState::kRecording ? 0 : wire::kNever;
  plan_.mode = AgentState::kCounting;
  replan();
}

std::uint64_t Schedule::lead_steps() const {
  return step_ns_ == 0 ? 1 : (kLeadNs + step_ns_ - 1) / step_ns_;
}

std::uint64_t Schedule::on_boundary(const Cycle& turn) const {
  const std::uint64_t lead = lead_steps();
  return std::min(turn.on, turn.active > lead ? turn.active - lead : 0);
}

// Windows closer to each other than the lead are recorded through: switching off and on again
// would cost more than it saves and could come late.
void Schedule::replan() {
  planned_step_ns_ = step_ns_;
  const Cycle now = cycle(cycle_);
  std::uint64_t on = on_boundary(now), off = now.end;
  // It takes later steps where recording came on late.
  if (state_ == State::kInWindow) off = std::max(off, plan_.off_step);
  const std::uint64_t lead = lead_steps();
  const bool is_on = plan_.on_step <= last_.number;
  if (is_on && on <= last_.number + lead) on = plan_.on_step;
  for (std::uint64_t next = cycle_; off != wire::kNever && !is_last_cycle(next);) {
    const Cycle after = cycle(++next);
    if (on_boundary(after) > off + lead) break;
    off = next - cycle_ > 1000 ? wire::kNever : after.end;
  }
  plan_.on_step = on;
  plan_.off_step = off;
}

void Schedule::update_follower_mode(std::uint64_t now_ns) {
  std::uint64_t expected = last_.number;
  if (step_ns_ != 0 && now_ns > last_.ts_ns)
    expected += std::min((now_ns - last_.ts_ns) / step_ns_, std::uint64_t{1});
  const bool wanted = expected + lead_steps() >= plan_.on_step && last_.number < plan_.off_step;
  plan_.follower_mode = wanted ? AgentState::kRecording : AgentState::kCounting;
}

/// No window reaches into the next one.
std::uint64_t Schedule::latest_end() const {
  return is_last_cycle(cycle_) ? wire::kNever : cycle(cycle_ + 1).active;
}

/// How many turns from this one on are over when a step of this number begins. A process may make
/// numbers up: they are never counted one by one.
std::uint64_t Schedule::cycles_before(std::uint64_t number) const {
  const std::uint64_t end = cycle(cycle_).end, next = cycle(cycle_ + 1).end;
  return number < end || next <= end ? 0 : (number - end) / (next - end) + 1;
}

/// Leaves out the turns that are over when this step begins, but for the last of them, which may
/// still take it. Returns how many.
std::uint64_t Schedule::skip_cycles(std::uint64_t number) {
  const std::uint64_t over = cycles_before(number), repeat = options_.schedule.repeat;
  if (state_ == State::kDone || over < 2) return 0;
  const std::uint64_t left = repeat == 0 ? over : repeat - std::min(repeat, cycle_ + 1);
  const std::uint64_t count = std::min(over - 1, left);
  cycle_ += count;
  replan();
  return count;
}

/// True: the turn is over without this step, which may be of the next one.
bool Schedule::is_past(const Begin& begin) {
  const Cycle now = cycle(cycle_);
  if (state_ == State::kRunning && begin.number >= now.active) {
    if (begin.number >= now.end && recorded(begin.ts_ns)) {
      next_cycle();  // its marks were lost
      skip_cycles(begin.number);
      return true;
    }
    state_ = State::kInWindow;
    window_end_ = now.end;
  }
  if (state_ != State::kInWindow || begin.number < latest_end() || resolve_first_step(begin.ts_ns))
    return false;
  count_missed();
  if (const std::uint64_t more = skip_cycles(begin.number); more != 0) {
    missed_ += more;
    missed_last_ = cycle(cycle_ - 1).end - 1;
  }
  return true;
}

void Schedule::step_in_window(const Begin& begin) {
  if (planned_step_ns_ == 0 && step_ns_ != 0) replan();
  while (is_past(begin))
    if (state_ == State::kDone) return;
  if (state_ == State::kInWindow) {
    const Cycle now = cycle(cycle_);
    if (!first_resolved_ || begin.number >= window_end_) {
      if (begins_.size() >= kMaxBegins) begins_.erase(begins_.begin(), begins_.end() - 1);
      begins_.push_back(begin);
    }
    if (begin.number >= now.end && !close_if_over() && !first_resolved_)
      await_recording(begin.number);
  }
  if (state_ != State::kDone) update_follower_mode(begin.ts_ns);
}

// Word of recording may come when the window's last step is past: what began since is of the
// next windows.
bool Schedule::close_if_over() {
  if (!resolve_first_step()) return false;
  const auto end = std::find_if(begins_.begin(), begins_.end(),
                                [this](const Begin& begin) { return begin.number >= window_end_; });
  if (end == begins_.end()) return false;
  const std::vector<Begin> rest(end, begins_.end());
  close_steps(rest.front().number, rest.front().before_ns);
  next_cycle();
  for (const Begin& begin : rest)
    if (state_ != State::kDone) step_in_window(begin);
  return true;
}

/// The window has passed without a step that was recorded.
void Schedule::count_missed() {
  const Cycle asked = cycle(cycle_);
  if (missed_++ == 0) missed_first_ = asked.active;
  missed_last_ = asked.end == wire::kNever ? last_.number : asked.end - 1;
  next_cycle();
}

void Schedule::report_missed() {
  if (missed_ == 0) return;
  remarks_.emplace_back("windows missed",
                        fmt::format(messages::schedule::kWindowsMissed,
                                    support::count_with_unit(missed_, "window", "windows"),
                                    label(missed_first_), label(missed_last_)));
  missed_ = 0;
}

// What was asked for has passed unrecorded: the window takes the next whole steps.
void Schedule::await_recording(std::uint64_t number) {
  const Cycle now = cycle(cycle_);
  plan_.on_step = std::min(plan_.on_step, number);
  plan_.off_step = std::max(plan_.off_step,
                            std::min(latest_end(), number + lead_steps() + (now.end - now.active)));
}

/// Nothing is missing from a window that begins with this step. @param end_ns  See
/// resolve_first_step().
bool Schedule::has_no_gap(const Begin& first, std::uint64_t end_ns) const {
  if (recorded_.empty()) return true;
  const Interval* one = interval_at(first.ts_ns);
  if (one == nullptr) return false;
  if (one->off_ns == wire::kNever) return true;
  const Cycle now = cycle(cycle_);
  const std::uint64_t end = std::min(
      now.end == wire::kNever ? wire::kNever : first.number + (now.end - now.active), latest_end());
  const auto after = std::find_if(begins_.begin(), begins_.end(),
                                  [&](const Begin& begin) { return begin.number >= end; });
  return (after == begins_.end() ? end_ns : after->ts_ns) <= one->off_ns;
}

/// The first step from which on all was recorded; false: there is none yet.
/// @param end_ns  When the window is over, where begins_ does not say; kNever: not known.
bool Schedule::resolve_first_step(std::uint64_t end_ns) {
  if (first_resolved_) return true;
  const auto first = std::find_if(begins_.begin(), begins_.end(),
                                  [&](const Begin& begin) { return has_no_gap(begin, end_ns); });
  if (first == begins_.end()) return false;
  first_resolved_ = true;
  window_first_ = *first;
  const Cycle now = cycle(cycle_);
  if (window_first_.number == now.active || now.end == wire::kNever) return true;
  const bool ends_here = plan_.off_step <= window_end_ || window_first_.number >= now.end;
  window_end_ = std::min(window_first_.number + (now.end - now.active), latest_end());
  if (ends_here) plan_.off_step = window_end_;
  return true;
}

void Schedule::close_steps(std::uint64_t end_number, std::uint64_t end_ns) {
  const Cycle asked = cycle(cycle_);
  const std::uint64_t wanted = asked.end == wire::kNever ? 0 : asked.end - asked.active;
  model::Window window;
  window.start_ns = window_first_.ts_ns;
  window.end_ns = end_ns;
  window.first_step = window_first_.number;
  window.first_label = window_first_.label;
  window.steps = end_number - window_first_.number;
  window.why = wanted != 0 && window.steps == wanted ? "schedule" : why_;
  if (window.first_step != asked.active || (wanted != 0 && window.steps != wanted))
    report_other_steps(window, wanted);
  report_truncated(window);
  close(window);
}

void Schedule::report_other_steps(const model::Window& window, std::uint64_t wanted) {
  const std::uint64_t first = cycle(cycle_).active;
  const std::string held = steps_text(window.first_step, window.steps);
  const std::string asked = wanted == 0
                                ? fmt::format(messages::schedule::kStepAndLater, label(first))
                                : steps_text(first, wanted);
  remarks_.emplace_back(
      "window " + std::to_string(index_),
      window.first_step != first
          ? fmt::format(messages::schedule::kRecordingStartedLate, index_ + 1, held, asked)
          : fmt::format(messages::schedule::kEndedInWindow, index_ + 1, held, asked, subject()));
}

void Schedule::next_cycle() {
  begins_.clear();
  first_resolved_ = false;
  deadline_ns_ = wire::kNever;
  if (is_last_cycle(cycle_)) return set_done();
  ++cycle_;
  state_ = State::kRunning;
  replan();
}

void Schedule::tick_steps(std::uint64_t now_ns) {
  if (state_ != State::kRunning && state_ != State::kInWindow) return;
  const std::uint64_t drift =
      step_ns_ > planned_step_ns_ ? step_ns_ - planned_step_ns_ : planned_step_ns_ - step_ns_;
  if (planned_step_ns_ != 0 && drift * 4 > planned_step_ns_) replan();
  if (state_ == State::kInWindow && close_if_over() && state_ == State::kDone) return;
  update_follower_mode(now_ns);
  // The last step has ended and no other begins (validation, saving): do not wait for it.
  const std::uint64_t end = first_resolved_ ? window_end_ : cycle(cycle_).end;
  if (state_ == State::kInWindow && last_ended_ + 1 == end && last_.number + 1 == end) {
    deadline_ns_ = last_ended_ns_ + kNextStepNs;
    if (now_ns >= deadline_ns_ && resolve_first_step()) {
      close_steps(end, last_ended_ns_);
      next_cycle();
    }
  }
}

void Schedule::finish_steps(std::uint64_t now_ns) {
  if (state_ != State::kInWindow || begins_.empty()) {
    if (index_ + missed_ == 0)
      remarks_.emplace_back("steps", fmt::format(messages::schedule::kEndedBeforeStep, subject(),
                                                 label(last_.number), label(cycle(0).active)));
    return;
  }
  const bool ended = last_ended_ == last_.number;
  const std::uint64_t end_number = ended ? last_.number + 1 : last_.number;
  if (!resolve_first_step(last_.ts_ns)) return count_missed();
  if (end_number > window_first_.number)
    return close_steps(end_number, ended ? last_ended_ns_ : last_.ts_ns);
  if (index_ != 0) return;  // no whole step, and earlier windows have some
  model::Window window;
  window.start_ns = window_first_.ts_ns;
  window.end_ns = now_ns;
  window.first_step = window_first_.number;
  window.first_label = window_first_.label;
  window.why = subject() + " ended inside the step";
  remarks_.emplace_back(
      "window 0", fmt::format(messages::schedule::kEndedInStep, window_first_.label, subject()));
  close(window);
}

}  // namespace gpuprof::session
