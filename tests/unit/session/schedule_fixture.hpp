// SPDX-License-Identifier: Apache-2.0
//
// A schedule, a program with steps and an agent, under a clock of the test's own.
#pragma once

#include <ostream>
#include <vector>

#include "daemon/session/schedule/schedule.hpp"

namespace gpuprof::session {

inline constexpr std::uint64_t kMs = 1'000'000;
inline constexpr std::uint64_t kSecond = 1000 * kMs;

inline recording::SessionOptions in_steps(std::uint64_t skip, std::uint64_t wait,
                                          std::uint64_t warmup, std::uint64_t active,
                                          std::uint64_t repeat) {
  recording::SessionOptions options;
  options.step = "nvtx:step";
  options.schedule = {{recording::Extent::Unit::kSteps, skip},
                      {recording::Extent::Unit::kSteps, wait},
                      {recording::Extent::Unit::kSteps, warmup},
                      {recording::Extent::Unit::kSteps, active},
                      repeat,
                      true};
  return options;
}

inline recording::SessionOptions in_time(std::uint64_t wait_ns, std::uint64_t active_ns,
                                         std::uint64_t repeat) {
  recording::SessionOptions options;
  options.schedule.wait = {recording::Extent::Unit::kTime, wait_ns};
  options.schedule.active = {recording::Extent::Unit::kTime, active_ns};
  options.schedule.repeat = repeat;
  options.schedule.given = true;
  return options;
}

/// A program with an agent that obeys the plan, `latency_ns` late.
class ScheduledProgram {
 public:
  ScheduledProgram(Schedule& schedule, std::uint64_t step_ns, std::uint64_t latency_ns = 2 * kMs)
      : schedule_(schedule), step_ns_(step_ns), latency_ns_(latency_ns) {
    schedule_.start(now_);
    tick();
  }

  /// Runs steps; ticks every 5 ms as the session does, and tells of marks at the ticks.
  void steps(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      began_.push_back(now_);
      const std::uint64_t number = began_.size() - 1;
      compare(number);
      pending_.push_back(number);
      wait(step_ns_);
    }
  }
  void wait(std::uint64_t ns) {
    const std::uint64_t end = now_ + ns;
    while (next_tick_ <= end) {
      now_ = next_tick_;
      tick();
      next_tick_ += 5 * kMs;
    }
    now_ = end;
  }
  void tick() {
    if (!hidden) {
      for (const std::uint64_t number : pending_)
        schedule_.step_began(number, began_[number], number + 1);
      pending_.clear();
    }
    schedule_.tick(now_);
    if (!began_.empty())
      compare(began_.size() - 1);
    else
      compare(wire::kNever);
    collect();
  }
  void finish() {
    tick();
    schedule_.finish(now_);
    collect();
  }
  std::uint64_t now() const { return now_; }
  std::uint64_t began(std::uint64_t number) const { return began_[number]; }
  std::uint64_t recorded_ns() const { return recorded_ns_; }
  /// When recording went on last, and how often.
  std::uint64_t on_since() const { return on_since_; }
  std::uint64_t times_on() const { return times_on_; }

  /// What a step is is not known yet: they are reported once this is false.
  bool hidden = false;
  std::vector<model::Window> windows;
  std::vector<Remark> remarks;

 private:
  void compare(std::uint64_t number) {
    const AgentPlan& plan = schedule_.plan();
    const bool wanted = plan.mode == wire::AgentState::kRecording ||
                        (plan.mode == wire::AgentState::kCounting && number != wire::kNever &&
                         number >= plan.on_step && number < plan.off_step);
    if (wanted && !recording_) schedule_.recording_on(now_ + latency_ns_);
    if (wanted && !recording_) on_since_ = now_, ++times_on_;
    if (!wanted && recording_) {
      recorded_ns_ += now_ - on_since_;
      schedule_.recording_off(now_);
    }
    recording_ = wanted;
  }
  void collect() {
    for (auto& window : schedule_.take_windows()) windows.push_back(window);
    for (auto& remark : schedule_.take_remarks()) remarks.push_back(remark);
  }

  Schedule& schedule_;
  std::uint64_t step_ns_, latency_ns_;
  std::uint64_t now_ = 1000 * kSecond, next_tick_ = 1000 * kSecond;
  std::vector<std::uint64_t> began_, pending_;
  bool recording_ = false;
  std::uint64_t on_since_ = 0, recorded_ns_ = 0, times_on_ = 0;
};

struct Steps {
  std::uint64_t first, count;
  bool operator==(const Steps&) const = default;
};
inline void PrintTo(const Steps& s, std::ostream* out) { *out << s.first << "+" << s.count; }

inline std::vector<Steps> steps_of(const std::vector<model::Window>& windows) {
  std::vector<Steps> all;
  for (const auto& window : windows) all.push_back({window.first_step, window.steps});
  return all;
}

}  // namespace gpuprof::session
