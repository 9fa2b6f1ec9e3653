// SPDX-License-Identifier: Apache-2.0
//
// The worker signals threads that run at the moment. Only when asked for: the thread may be on its
// way to sleep, and its call then returns EINTR.
//
// Context:  worker
// Owns:     nothing
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "inject/sample/proc_files.hpp"
#include "inject/sample/signals/handler.hpp"
#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::uint32_t kFastestHz = 1000;  // the worker's shortest sleep is 1 ms

bool probe(const TriggerPlan&, char*, std::size_t) { return true; }
bool open_trigger(const TriggerPlan&, pid_t, TriggerSlot* slot) {
  slot->sent_cpu_ns = 0;
  return true;
}
void close_trigger(TriggerSlot*) {}
bool intact(const TriggerSlot&) { return true; }

bool is_running(pid_t tid) {
  char path[64], text[64];
  task_path(path, sizeof path, tid, "syscall");
  return read_small_file(path, text, sizeof text) > 0 && strncmp(text, "running", 7) == 0;
}

void turn(const TriggerPlan& plan, pid_t tid, TriggerSlot* slot) {
  const std::uint64_t cpu_ns = base::clock_ns(cpu_clock_of(tid));
  // The last signal is answered only if the thread has run since: none is queued behind another.
  if (cpu_ns - slot->sent_cpu_ns < plan.period_ns / 2 || !is_running(tid)) return;
  slot->sent_cpu_ns = cpu_ns;
  siginfo_t info;
  memset(&info, 0, sizeof info);
  info.si_signo = plan.signal;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = signal_cookie(tid);
  ::syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, plan.signal, &info);
}

std::uint32_t effective_hz(const TriggerPlan& plan) { return std::min(plan.rate_hz, kFastestHz); }

}  // namespace

constinit const TriggerKind kTgkillTrigger{wire::SamplerKind::kTgkill,
                                           "tgkill",
                                           probe,
                                           open_trigger,
                                           close_trigger,
                                           intact,
                                           effective_hz,
                                           turn,
                                           nullptr};

}  // namespace gpuprof::sample
