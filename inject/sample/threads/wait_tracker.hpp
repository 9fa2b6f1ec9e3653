// SPDX-License-Identifier: Apache-2.0
//
// How long a thread has waited, from repeated looks at its CPU time.
//
// Context:  worker
// Promises: a wait of two looks or more is reported from its begin to its end, exactly where the
//           thread ran before and after it, otherwise within half the time between two looks at
//           each side; of shorter ones, every so often one stands for all the time since the last
//           such look, so that their sum is right on average
// Not here: stacks (off_cpu.cpp)
//
// A thread that used no CPU time between two looks has waited all that time. One that used some
// has waited for the rest at most: all of it belongs to the wait at its side where the thread ran
// for most of the time, or for all of the time up to the look before, or from this look to the
// next; otherwise half of it may.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpuprof::sample {

class WaitTracker {
 public:
  static constexpr std::uint64_t kProbeNs = 75'000'000;
  static constexpr std::uint64_t kMaxIntervalNs = 80'000'000;
  static constexpr std::uint64_t kMaxCarriedNs = 1'000'000'000;

  struct Record {
    std::uint64_t ts_ns;      // an instant at which the thread waited
    std::uint64_t weight_ns;  // 0: there is none
  };

  enum class Observation : std::uint8_t {
    kFirst,   // nothing is known yet
    kAsleep,  // no CPU time since the last look
    kMoved,
  };

  bool is_due(std::uint64_t now_ns) const { return now_ns >= due_ns_; }
  std::uint64_t due_ns() const { return due_ns_; }

  /// A look. `cpu_ns`: of the thread, since it began.
  Observation observe(std::uint64_t now_ns, std::uint64_t cpu_ns) {
    over_ = End{};
    Observation seen = Observation::kAsleep;
    if (looked_ns_ == 0) {
      seen = Observation::kFirst;
      began_ns_ = now_ns;
      cpu_ns_ = cpu_ns;
    } else if (cpu_ns != cpu_ns_) {
      seen = Observation::kMoved;
      move(now_ns - looked_ns_, now_ns, cpu_ns);
    } else {
      over_ = end_;
      end_ = End{};
      ran_through_ = false;
      if (!waits_) unseen_ns_ -= std::min(unseen_ns_, looked_ns_ - began_ns_);
      waits_ = true;
    }
    looked_ns_ = now_ns;
    return seen;
  }

  /// The rest of the wait that was found to be over at the look before this one, and was reported
  /// up to `reported_ns`.
  Record unreported_end(std::uint64_t reported_ns) const {
    const std::uint64_t end_ns = over_.ts_ns + over_.sure_ns;
    return {over_.ts_ns, end_ns > reported_ns ? end_ns - reported_ns : 0};
  }

  /// When the present wait began, as far as is known.
  std::uint64_t began_ns() const { return began_ns_; }

  /// This much of the time before this look was reported as waited.
  void mark_reported(std::uint64_t ns) { unseen_ns_ -= std::min(unseen_ns_, ns); }

  /// After kMoved: whether it is time to see if the thread is in a short wait now.
  bool wants_probe() const { return unseen_ns_ >= kProbeNs; }
  /// That was done, and the thread did not wait.
  void probe_found_running() { unseen_ns_ = 0; }
  /// It did, but its stack could not be had.
  void probe_without_stack() {
    owed_ns_ = std::min(owed_ns_ + unseen_ns_, kMaxCarriedNs);
    unseen_ns_ = 0;
  }
  /// It did. @return what the wait stands for, should it turn out to be a short one.
  std::uint64_t probe_found_waiting() {
    const std::uint64_t stands_for = unseen_ns_ + owed_ns_;
    unseen_ns_ = owed_ns_ = 0;
    return stands_for;
  }

  /// The next look: after `period_ns`; later, the longer the thread has waited.
  void plan_next(Observation seen, std::uint64_t period_ns) {
    std::uint64_t pause_ns = period_ns;
    if (seen == Observation::kAsleep)
      pause_ns =
          std::clamp((looked_ns_ - began_ns_) / 16, period_ns, std::max(period_ns, kMaxIntervalNs));
    due_ns_ = looked_ns_ + pause_ns;
  }

 private:
  void move(std::uint64_t span_ns, std::uint64_t now_ns, std::uint64_t cpu_ns) {
    const std::uint64_t idle_ns = span_ns - std::min(span_ns, cpu_ns - cpu_ns_);
    const std::uint64_t side_ns = span_ns - idle_ns >= idle_ns ? idle_ns : idle_ns / 2;
    const bool through = idle_ns <= span_ns / 8;
    over_ = end_;
    if (through) over_.sure_ns = end_.all_ns;
    end_ = waits_ ? End{looked_ns_, side_ns, idle_ns} : End{};
    unseen_ns_ += span_ns - end_.sure_ns;
    began_ns_ = now_ns - std::min(ran_through_ ? idle_ns : side_ns, idle_ns - end_.sure_ns);
    cpu_ns_ = cpu_ns;
    waits_ = false;
    ran_through_ = through;
  }

  /// When a wait was seen last, and how much longer it was, at least and at most.
  struct End {
    std::uint64_t ts_ns = 0, sure_ns = 0, all_ns = 0;
  };

  std::uint64_t cpu_ns_ = 0, looked_ns_ = 0, due_ns_ = 0;
  std::uint64_t began_ns_ = 0;   // of the present wait, if it is one
  bool waits_ = false;           // it has lasted for two looks
  bool ran_through_ = false;     // the time between the last two looks
  std::uint64_t unseen_ns_ = 0;  // in which short waits were not looked for
  std::uint64_t owed_ns_ = 0;    // of those found without a stack
  End end_;                      // of the wait that was over at this look
  End over_;                     // of the one that was at the look before
};

}  // namespace gpuprof::sample
