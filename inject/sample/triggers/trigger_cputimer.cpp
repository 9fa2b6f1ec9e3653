// SPDX-License-Identifier: Apache-2.0
//
// A timer on each thread's CPU clock, for where perf events are not allowed.
//
// Context:  worker
// Owns:     nothing
// Promises: needs no descriptor and no permission; expires on the return to user mode, so a
//           sleeping thread is never interrupted (older kernels are refused, where it does so amid
//           a call); the kernel looks at it CONFIG_HZ times a second
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "inject/messages/sampling.hpp"
#include "inject/sample/triggers/timer_slot.hpp"
#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

namespace {

std::uint32_t ticks_per_second() {
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_nsec == 0) return 1000;
  return static_cast<std::uint32_t>((1'000'000'000 + tick.tv_nsec / 2) / tick.tv_nsec);
}

bool open_trigger(const TriggerPlan& plan, pid_t tid, TriggerSlot* slot) {
  return open_timer(plan, cpu_clock_of(tid), tid, slot);
}

// POSIX_CPU_TIMERS_TASK_WORK: x86 has it since 5.9. Since when others do was not looked up: late
// enough.
#if defined(__x86_64__)
constexpr unsigned long kMajor = 5, kMinor = 9;
#else
constexpr unsigned long kMajor = 6, kMinor = 0;
#endif

bool expires_on_return() {
  utsname kernel{};
  if (uname(&kernel) != 0) return false;
  char* end = nullptr;
  const unsigned long major = strtoul(kernel.release, &end, 10);
  const unsigned long minor = *end == '.' ? strtoul(end + 1, nullptr, 10) : 0;
  return major > kMajor || (major == kMajor && minor >= kMinor);
}

bool probe(const TriggerPlan& plan, char* why, std::size_t room) {
  if (!expires_on_return()) {
    snprintf(why, room, messages::sampling::kOldKernel, kMajor, kMinor);
    return false;
  }
  TriggerSlot slot;
  TriggerPlan trial = plan;
  trial.period_ns = 3'600'000'000'000;  // never fires
  const bool works = open_trigger(trial, static_cast<pid_t>(::syscall(SYS_gettid)), &slot);
  if (!works) snprintf(why, room, messages::sampling::kTimerCreate, strerrordesc_np(errno));
  close_timer(&slot);
  return works;
}

std::uint32_t effective_hz(const TriggerPlan& plan) {
  return std::min(plan.rate_hz, ticks_per_second());
}

}  // namespace

constinit const TriggerKind kCpuTimerTrigger{wire::SamplerKind::kCpuTimer,
                                             "cpu-timer",
                                             probe,
                                             open_trigger,
                                             close_timer,
                                             timer_intact,
                                             effective_hz,
                                             nullptr,
                                             nullptr};

}  // namespace gpuprof::sample
