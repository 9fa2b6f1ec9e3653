// SPDX-License-Identifier: Apache-2.0
//
// What makes a running thread receive the sampling signal. One file per kind.
//
// Context:  worker
// Owns:     nothing: descriptors and timers belong to the thread list's entries
// Promises: perf and cpu-timer never interrupt a sleeping thread
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::sample {

struct TriggerPlan {
  std::uint32_t rate_hz = 0;
  std::uint64_t period_ns = 0;
  int signal = 0;
};

/// One thread's trigger.
struct TriggerSlot {
  int fd = -1;
  std::uint64_t event_id = 0;
  bool has_timer = false;
  timer_t timer{};
  std::uint64_t sent_cpu_ns = 0;
  // perf: period in force, and what was given since the last correction.
  std::uint64_t period_ns = 0, corrected_cpu_ns = 0, delivered = 0;
};

struct TriggerKind {
  wire::SamplerKind kind;
  const char* name;
  /// Whether it can work here; if not, `why` gets a short reason.
  bool (*probe)(const TriggerPlan& plan, char* why, std::size_t room);
  bool (*open)(const TriggerPlan& plan, pid_t tid, TriggerSlot* slot);
  void (*close)(TriggerSlot* slot);
  /// False: it has to be opened again (the program closed our descriptor).
  bool (*intact)(const TriggerSlot& slot);
  /// Samples per second that it really gives.
  std::uint32_t (*effective_hz)(const TriggerPlan& plan);
  /// Called once per period for each thread, if not null.
  void (*poll)(const TriggerPlan& plan, pid_t tid, TriggerSlot* slot);
  /// Called at each scan for each thread, if not null: lets the trigger continue, at a rate
  /// corrected by what it has given so far.
  void (*refill)(const TriggerPlan& plan, pid_t tid, TriggerSlot* slot);
};

extern const TriggerKind kPerfTrigger;
extern const TriggerKind kCpuTimerTrigger;
extern const TriggerKind kTgkillTrigger;
#ifdef GPUPROF_TEST_WALL_TIMER
extern const TriggerKind kWallTrigger;
#endif

/// CPU clock of any thread of this process.
constexpr clockid_t cpu_clock_of(pid_t tid) {
  // Per thread, scheduler's time: see linux/posix-timers.h.
  return static_cast<clockid_t>(~static_cast<std::uint32_t>(tid) << 3 | 6u);
}

}  // namespace gpuprof::sample
