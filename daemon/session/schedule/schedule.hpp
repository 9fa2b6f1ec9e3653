// SPDX-License-Identifier: Apache-2.0
//
// When to record: a state machine without side effects. Time and step marks in, a plan for the
// agents and closed windows out.
//
// Context:  daemon (ingest thread); no clock, no descriptor, no thread of its own
// Owns:     nothing outside itself
// Promises: the plan names boundaries as step numbers ahead of time; windows hold whole steps
//           wherever steps are known; whatever differs from what was asked becomes a remark
// Not here: telling agents, flushing, cutting files (session.hpp, schedule_steps.cpp)
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpuprof/wire/segment.hpp"
#include "recording/model/window.hpp"
#include "recording/session/session_options.hpp"

namespace gpuprof::session {

/// What the agents are to do. Step numbers are the session's.
struct AgentPlan {
  wire::AgentState mode = wire::AgentState::kArmed;  // outside [on_step, off_step)
  std::uint64_t on_step = wire::kNever;
  std::uint64_t off_step = wire::kNever;
  /// For processes that have no steps of their own: what to do now.
  wire::AgentState follower_mode = wire::AgentState::kArmed;

  bool operator==(const AgentPlan&) const = default;
};

using Remark = std::pair<std::string, std::string>;  // key, sentence

class Schedule {
 public:
  /// Recording is switched on this long before it is needed, and not off for less.
  static constexpr std::uint64_t kLeadNs = 50'000'000;
  static constexpr std::uint64_t kProvisionalNs = 5'000'000'000;
  /// Operators are looked at again for this long while steps are not found among them, each time
  /// after twice the pause.
  static constexpr std::uint64_t kRetrySearchNs = 2'000'000'000, kPauseNs = 3'000'000'000;

  /// @param has_step_source  Whether marks can come at all.
  /// @param among_operators  Steps are found among operators, while these are recorded.
  Schedule(const recording::SessionOptions& options, bool has_step_source,
           bool among_operators = false);

  // What happened. Times are CLOCK_MONOTONIC and may be a little older than the last tick.
  void start(std::uint64_t now_ns);
  void first_activity(std::uint64_t ts_ns);
  /// May be long past: steps are found afterwards. @param label  What files call it.
  void step_began(std::uint64_t number, std::uint64_t ts_ns, std::uint64_t label);
  /// @param pause  What follows, up to the next one, is of no step.
  void step_ended(std::uint64_t number, std::uint64_t ts_ns, bool pause = false);
  /// The process with the steps says that everything asked for is on since ts_ns.
  void recording_on(std::uint64_t ts_ns);
  /// … is off again.
  void recording_off(std::uint64_t ts_ns);
  /// Forgets what was said of recording: another process has the steps.
  void recording_unknown() { recorded_.clear(); }
  /// Operators come, but no step was found among them yet.
  /// @param at_once  One of their loops was not there before.
  void extend_step_search(std::uint64_t now_ns, bool at_once);
  void tick(std::uint64_t now_ns);
  /// The command is gone, or somebody ends the recording. Closes what is open.
  /// @param why  Why a window that is cut short by it ends there.
  void finish(std::uint64_t now_ns, const std::string& why = "schedule");
  /// There is no more room (--max-size): closes what is open, nothing follows.
  void stop_recording(std::uint64_t now_ns);
  /// There are enough windows (--keep first:N): nothing follows, what is open is dropped.
  void abandon() { set_done(); }

  const AgentPlan& plan() const { return plan_; }
  bool whole_run() const { return kind_ == Kind::kWholeRun; }
  bool done() const { return state_ == State::kDone; }
  /// What it waits for or does, in a few words: "recording window 2 of 3".
  std::string progress_text() const;
  /// No step was seen, and what was recorded to find some is complete.
  bool step_search_over(std::uint64_t now_ns) const {
    return state_ == State::kProvisional && activity_ns_ != 0 &&
           now_ns >= activity_ns_ + kProvisionalNs;
  }
  /// Windows closed since the last call, in time order. stamp_real_ns is left to the caller.
  std::vector<model::Window> take_windows() { return std::exchange(windows_, {}); }
  std::vector<Remark> take_remarks() { return std::exchange(remarks_, {}); }
  /// When tick() has something to do at the latest; kNever: nothing planned.
  std::uint64_t next_deadline() const { return deadline_ns_; }

 private:
  enum class Kind { kArmed, kWholeRun, kTime, kSteps };
  enum class State { kNotStarted, kProvisional, kRunning, kInWindow, kClosing, kDone };
  struct Begin {
    std::uint64_t number, ts_ns, label;
    std::uint64_t before_ns;  // end of what belongs to the step before
  };
  struct Interval {
    std::uint64_t on_ns, off_ns;
  };
  /// One cycle of the schedule, in steps or ns from its zero.
  struct Cycle {
    std::uint64_t on, active, end;  // warm-up begins; window begins; window ends
  };

  static Kind kind_of(const recording::SessionOptions& options, bool has_step_source);
  Cycle cycle(std::uint64_t index) const;
  bool is_last_cycle(std::uint64_t index) const;
  void close(model::Window window);
  void set_done();
  /// While this time was recorded; nullptr: it was not.
  const Interval* interval_at(std::uint64_t ts_ns) const;
  bool recorded(std::uint64_t ts_ns) const;
  /// When recording went on last; 0: never said.
  std::uint64_t recording_on_ns() const { return recorded_.empty() ? 0 : recorded_.back().on_ns; }
  /// What files call a step of the session.
  std::uint64_t label(std::uint64_t number) const { return number + (last_.label - last_.number); }
  std::string steps_text(std::uint64_t first, std::uint64_t count) const;

  // schedule_steps.cpp
  void first_step(std::uint64_t number, std::uint64_t ts_ns);
  void learn_rate(std::uint64_t number, std::uint64_t ts_ns);
  void replan();
  std::uint64_t on_boundary(const Cycle& cycle) const;
  std::uint64_t lead_steps() const;
  void update_follower_mode(std::uint64_t now_ns);
  void step_in_window(const Begin& begin);
  bool close_if_over();
  void count_missed();
  std::uint64_t cycles_before(std::uint64_t number) const;
  std::uint64_t skip_cycles(std::uint64_t number);
  bool is_past(const Begin& begin);
  void report_missed();
  void report_truncated(const model::Window& window);
  /// @param wanted  Steps that the window was to hold; 0: all later ones.
  void report_other_steps(const model::Window& window, std::uint64_t wanted);
  bool has_no_gap(const Begin& first, std::uint64_t end_ns) const;
  bool resolve_first_step(std::uint64_t end_ns = wire::kNever);
  std::uint64_t latest_end() const;
  void await_recording(std::uint64_t number);
  void close_steps(std::uint64_t end_number, std::uint64_t end_ns);
  void next_cycle();
  void tick_steps(std::uint64_t now_ns);
  void finish_steps(std::uint64_t now_ns);
  void finish_provisional(std::uint64_t now_ns);
  void tick_provisional(std::uint64_t now_ns);

  // schedule_time.cpp
  void start_time(std::uint64_t now_ns);
  void tick_time(std::uint64_t now_ns);
  bool awaits_recording(std::uint64_t active_ns, std::uint64_t now_ns) const;
  void count_from(std::uint64_t recording_ns, std::uint64_t due_ns);
  void step_in_time(std::uint64_t number, std::uint64_t ts_ns);
  void close_time(std::uint64_t end_ns, std::uint64_t end_step);
  void finish_time(std::uint64_t now_ns);

  /// What ended when there is no more to record: of running processes it is not the program.
  std::string subject() const { return options_.running_processes ? "recording" : "program"; }

  const recording::SessionOptions options_;
  const bool has_step_source_, among_operators_;
  const Kind kind_;
  State state_ = State::kNotStarted;
  AgentPlan plan_;
  std::vector<model::Window> windows_;
  std::vector<Remark> remarks_;
  std::uint64_t deadline_ns_ = wire::kNever;

  std::uint64_t start_ns_ = 0;
  std::uint64_t activity_ns_ = 0;  // 0: none yet
  std::uint64_t look_until_ns_ = 0, next_look_ns_ = 0, pause_ns_ = kPauseNs;
  std::vector<Interval> recorded_;  // by the process with the steps; the newest ones
  bool finishing_ = false;
  std::uint64_t cycle_ = 0;
  std::uint32_t index_ = 0;
  std::string why_ = "schedule";  // the next window ends where it does

  bool steps_seen_ = false;
  Begin last_{};  // newest step begun
  std::uint64_t last_ended_ = wire::kNever, last_ended_ns_ = 0;
  bool pause_ = false;  // since then
  std::uint64_t rate_from_ns_ = 0, rate_from_ = 0;
  std::uint64_t step_ns_ = 0;  // recent duration of a step, 0: unknown
  std::uint64_t planned_step_ns_ = 0;
  std::vector<Begin> begins_;  // steps begun in the open window (the first ones)
  Begin window_first_{};       // step windows: first whole step recorded
  std::uint64_t window_end_ = 0;
  std::uint64_t missed_ = 0, missed_first_ = 0, missed_last_ = 0;  // windows, steps of them
  bool first_resolved_ = false;
  std::uint64_t window_start_ns_ = 0;  // time windows
  std::uint64_t window_start_step_ = 0;
};

}  // namespace gpuprof::session
