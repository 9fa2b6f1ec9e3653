// SPDX-License-Identifier: Apache-2.0
//
// The beat of a session: drain, hand out the plan, cut windows.
//
// Context:  daemon (ingest thread)
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

#include "daemon/messages/schedule.hpp"
#include "daemon/messages/session.hpp"
#include "daemon/session/session.hpp"
#include "daemon/session/target/drain_pace.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/process/library_lost.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::session {
namespace {

/// What waits for records of other ring buffers and for readings of clocks waits for rounds of this
/// length, also where ring buffers are drained more often.
constexpr std::uint64_t kRoundNs = 2 * DrainPace::kMaxPeriodNs;
constexpr std::uint64_t kFlushPeriodNs = 45'000'000;
/// After recording went off, ring buffers are drained this much longer.
constexpr std::uint64_t kAfterNs = 300'000'000;
/// Longest wait for the agents' answers to a flush.
constexpr std::uint64_t kFlushWaitNs = 1'500'000'000;
/// Shortest time a slower process gets to reach the last step of a window.
constexpr std::uint64_t kFollowerWaitNs = 2'000'000'000;
/// A process that closed its socket and lives on (an agent that stopped) is drained this long.
constexpr std::uint64_t kSilentNs = 2'000'000'000;
/// An exec puts the new image together in less than this, after it has closed our socket.
constexpr std::uint64_t kExecNs = 30'000'000;
/// Rounds after a flush: one takes what came, one joins it, one sorts the last steps.
constexpr std::uint32_t kCutRounds = 3;

std::string step_text(std::uint64_t step) {
  return step == wire::kNever ? "never" : "step " + std::to_string(step);
}

}  // namespace

// The schedule's zero is the program's start: the first process or the client's word.
void Session::start_clock(std::uint64_t now_ns) {
  if (started_) return;
  started_ = true;
  schedule_.start(now_ns);
  drain_until_ns_ = now_ns + kAfterNs;
}

void Session::tick(std::uint64_t now_ns) {
  if (state_ == State::kFinished) return;
  join_requests_.tick(now_ns);
  if (state_ != State::kWriting) {
    drain(now_ns);
    finish_dead_targets(now_ns);
    if (state_ == State::kRunning) {
      update_step_search(now_ns);
      schedule_.tick(now_ns);
      collect_windows();
      apply_plan(now_ns);
      unrecorded_.look(
          command_pid_, [this](auto pid) { return has_connected(pid); }, now_ns);
      check_size(now_ns);
      if (setup_.options.running_processes) send_progress(now_ns);
    }
  }
  advance_windows(now_ns);
  if (state_ == State::kRunning && should_end(now_ns)) begin_ending(now_ns);
  advance_ending(now_ns);
  // A window that is still to come is to begin at its step.
  worker_->tick(
      state_ != State::kWriting &&
      (!schedule_.done() || std::any_of(targets_.begin(), targets_.end(),
                                        [](const auto& target) { return target->records(); })));
}

std::uint64_t Session::next_deadline() const {
  constexpr std::uint64_t kLookNs = 50'000'000;
  if (state_ == State::kFinished) return wire::kNever;
  // Nothing is drained any more, and what is due wakes the loop.
  if (state_ == State::kWriting) return base::mono_ns() + kLookNs;
  std::uint64_t next = state_ == State::kRunning ? schedule_.next_deadline() : wire::kNever;
  bool draining = !pending_windows_.empty() || state_ == State::kFlushing;
  bool silent = false;
  std::uint64_t drain_ns = last_round_ns_ + kRoundNs;
  for (const auto& target : targets_) {
    if (target->finished()) continue;
    drain_ns = std::min(drain_ns, target->drain_due_ns());
    draining = draining || target->wants_draining();
    silent = silent || !target->connected();
  }
  if (draining || last_round_ns_ < drain_until_ns_) next = std::min(next, drain_ns);
  if (silent || client_gone_ || command_ended_ || setup_.options.running_processes)
    next = std::min(next, base::mono_ns() + kLookNs);
  return next;
}

// In between those alone that are due: else all ranks would be looked at as often as the busiest.
void Session::drain(std::uint64_t now_ns) {
  if (now_ns - last_round_ns_ >= kRoundNs) return do_round(now_ns);
  for (const auto& target : targets_)
    if (now_ns >= target->drain_due_ns()) target->drain(now_ns);
}

void Session::do_round(std::uint64_t now_ns) {
  last_round_ns_ = now_ns;
  for (const auto& target : targets_) {
    target->drain(now_ns);
    target->end_round(now_ns);
    target->check_overhead(now_ns);
    target->check_delivery(now_ns);
  }
  if (now_ns - last_flush_ns_ < kFlushPeriodNs) return;
  last_flush_ns_ = now_ns;
  for (const auto& target : targets_) target->flush_spool();
}

// Processes whose socket closed: gone ones end here if there is no pidfd to say so; of the
// living, threads may push a little longer, and one whose worker is parked comes back.
void Session::finish_dead_targets(std::uint64_t now_ns) {
  for (const auto& target : targets_) {
    if (target->finished() || target->connected()) continue;
    const bool gone = target->process_gone();
    if (!gone) check_for_lost_image(*target, now_ns);
    if (gone && await_status(*target)) continue;
    const bool silent = target->has_detached() || now_ns - target->disconnected_ns() >= kSilentNs;
    if (!gone && (target->parked() || !silent)) continue;
    const auto how = !gone                ? Target::End::kStillRunning
                     : target->sent_bye() ? Target::End::kSentBye
                                          : Target::End::kVanished;
    target->finish(how, gone ? status_of(*target) : -1, now_ns);
  }
}

// Looked at once, when an exec that took the socket away is surely done.
void Session::check_for_lost_image(const Target& target, std::uint64_t now_ns) {
  if (target.sent_bye() || target.parked() || now_ns - target.disconnected_ns() < kExecNs) return;
  const Target::Identity& identity = target.identity();
  if (lost_images_.contains(identity.spool_file)) return;
  std::string why = support::library_lost_reason(identity.pid, identity.exe);
  // It was never in the environment, so that cannot be why.
  if (!why.empty() && (identity.wake_reasons & wire::kWakeAttach) != 0)
    why = fmt::format(messages::session::kExecRemovedLibrary, identity.pid);
  lost_images_[identity.spool_file] = why;
}

// Where the schedule has none and the time for looking is over, less must do for a choice.
void Session::update_step_search(std::uint64_t now_ns) {
  const bool enough = schedule_.step_search_over(now_ns);
  bool undecided = false;
  std::size_t loops = 0;
  for (const auto& target : targets_) {
    if (!target->steps_undecided()) continue;
    if (enough) target->choose_steps(now_ns);
    undecided = undecided || target->steps_undecided();
    loops += target->loops_seen();
  }
  if (undecided) schedule_.extend_step_search(now_ns, loops > loops_looked_at_);
  if (schedule_.plan().mode == wire::AgentState::kRecording) loops_looked_at_ = loops;
}

void Session::apply_plan(std::uint64_t now_ns) {
  const AgentPlan& plan = schedule_.plan();
  // Slower processes come to the last window's end by the plan they have.
  if (schedule_.done() && !pending_windows_.empty() && pending_windows_.front().token == 0 &&
      !size_reached_)
    return;
  if (!(plan == sent_plan_)) {
    if (plan.mode == wire::AgentState::kArmed) drain_until_ns_ = now_ns + kAfterNs;
    spdlog::debug("plan: mode {} on {} off {}", static_cast<int>(plan.mode),
                  step_text(plan.on_step), step_text(plan.off_step));
    sent_plan_ = plan;
  }
  // Also for unchanged plans: a process may have begun to count steps of its own.
  for (const auto& target : targets_)
    if (!target->finished()) target->set_plan(plan, leader_ == nullptr || target->has_steps());
}

void Session::remark(const std::string& key, const std::string& message) {
  log_->remark(key, message);
  remarks_.emplace_back(key, message);
}

void Session::collect_windows() {
  for (const auto& [key, message] : schedule_.take_remarks()) remark(key, message);
  for (model::Window& window : schedule_.take_windows()) {
    const std::uint64_t now_ns = base::mono_ns();
    window.stamp_real_ns = base::real_ns() - (now_ns - window.start_ns);
    if (schedule_.whole_run()) {
      whole_run_pending_ = true;  // cut by size when everything is there
      continue;
    }
    pending_windows_.push_back(PendingWindow{window});
  }
}

bool Session::flush_answered(std::uint64_t token, std::uint64_t deadline_ns,
                             std::uint64_t now_ns) const {
  if (now_ns >= deadline_ns) return true;
  return std::none_of(targets_.begin(), targets_.end(), [&](const auto& target) {
    return !target->finished() && target->connected() && target->flush_pending(token) &&
           !support::process_stat(static_cast<pid_t>(target->identity().pid)).is_stopped();
  });
}

// A window of steps is cut at the same step in every process: the slower ones may take longer, to
// come there and, at first, until it is known what their steps are.
bool Session::followers_are_past(PendingWindow& cut, std::uint64_t now_ns) {
  if (cut.window.steps == 0 || state_ != State::kRunning) return true;
  for (const auto& target : targets_)
    if (target->steps_undecided()) target->choose_steps(now_ns);
  if (cut.step_deadline_ns == 0)
    cut.step_deadline_ns =
        now_ns + std::max(kFollowerWaitNs, 2 * (cut.window.end_ns - cut.window.start_ns));
  const std::uint64_t last = cut.window.first_step + cut.window.steps;
  return now_ns >= cut.step_deadline_ns ||
         std::none_of(targets_.begin(), targets_.end(), [&](const auto& target) {
           const bool behind = target->has_steps()
                                   ? target->latest_step() < last
                                   : target->steps_undecided() && !target->serves() &&
                                         now_ns < leader_ns_ + kFollowerWaitNs;
           return behind && !target->finished() && !target->process_gone();
         });
}

// One window at a time: ask the agents, wait for their answers, drain, then it is complete.
void Session::advance_windows(std::uint64_t now_ns) {
  while (!pending_windows_.empty()) {
    PendingWindow& cut = pending_windows_.front();
    if (cut.token == 0) {
      if (!followers_are_past(cut, now_ns)) return;
      cut.token = next_token_++;
      cut.deadline_ns = now_ns + kFlushWaitNs;
      cut.rounds = kCutRounds;
      for (const auto& target : targets_) target->request_flush(cut.token, false);
    }
    if (!flush_answered(cut.token, cut.deadline_ns, now_ns)) return;
    if (cut.rounds != 0 && state_ != State::kWriting) {
      for (const auto& target : targets_) target->hurry();
      // Back to back rather than milliseconds apart: what is published is published.
      for (; cut.rounds != 0; --cut.rounds) do_round(now_ns);
      if (setup_.options.running_processes && schedule_.done() && pending_windows_.size() == 1)
        for (const auto& target : targets_) target->choose_steps(now_ns, true);
      for (const auto& target : targets_) {
        if (!keeps_last_only())
          target->check_flush(cut.token,
                              fmt::format(messages::schedule::kWindow, cut.window.index + 1),
                              cut.window.end_ns);
        target->complete_window(now_ns);
      }
    }
    model::Window window = cut.window;
    window.settled_ns = base::mono_ns();
    window.gapless = !windows_.empty() && windows_.back().end_ns >= window.start_ns;
    if (!windows_.empty()) window.losses_from_ns = windows_.back().settled_ns;
    pending_windows_.pop_front();
    queue_window(window);
  }
}

void Session::check_size(std::uint64_t now_ns) {
  if (size_reached_ || setup_.options.max_size_bytes == 0) return;
  std::uint64_t bytes = 0;
  for (const auto& target : targets_) bytes += target->writer().bytes_written();
  if (bytes < setup_.options.max_size_bytes) return;
  size_reached_ = true;
  schedule_.stop_recording(now_ns);
  remark("size", fmt::format(messages::session::kMaxSizeReached, setup_.options.max_size_bytes));
  collect_windows();
  apply_plan(now_ns);
}

}  // namespace gpuprof::session
