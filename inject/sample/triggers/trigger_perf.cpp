// SPDX-License-Identifier: Apache-2.0
//
// A perf software event per thread: the thread's own CPU time, user mode only.
//
// Context:  worker
// Owns:     nothing
// Promises: fires only while the thread runs its own code, so no system call of it returns EINTR;
//           a bounded number of signals waits on a thread that blocks them
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "inject/messages/sampling.hpp"
#include "inject/sample/proc_files.hpp"
#include "inject/sample/triggers/perf_event_fds.hpp"
#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

namespace {

// The event is armed for half a second of signals, and each scan allows as many more as were
// handled. Without a limit a thread that blocks the sampling signal would queue one a period until
// RLIMIT_SIGPENDING, and the kernel then sends SIGIO instead, which ends the process. Half a
// second, because that is how long the worker may be late before samples are missed.
constexpr std::uint32_t kMinUnanswered = 4;
constexpr std::uint64_t kQueueReserve = 512;

int open_event(const TriggerPlan& plan, pid_t tid) {
  perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = plan.period_ns;
  attr.disabled = 1;
  // In kernel mode a signal could meet a thread on its way to sleep.
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

bool direct_to(int fd, int signal, pid_t tid) {
  f_owner_ex owner;
  owner.type = F_OWNER_TID;
  owner.pid = tid;
  return fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 && fcntl(fd, F_SETSIG, signal) == 0 &&
         fcntl(fd, F_SETOWN_EX, &owner) == 0;
}

bool open_trigger(const TriggerPlan& plan, pid_t tid, TriggerSlot* slot) {
  const int fd = move_fd_high(open_event(plan, tid));
  if (fd < 0) return false;
  std::uint64_t id = 0;
  if (!direct_to(fd, plan.signal, tid) || ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0 ||
      !g_perf_descriptors.add(fd, id, tid)) {
    ::close(fd);
    return false;
  }
  slot->fd = fd;
  slot->event_id = id;
  slot->period_ns = plan.period_ns;
  return ioctl(fd, PERF_EVENT_IOC_REFRESH, kMinUnanswered + plan.rate_hz / 2) == 0;
}

bool intact(const TriggerSlot& slot) {
  std::uint64_t id = 0;
  return slot.fd >= 0 && ioctl(slot.fd, PERF_EVENT_IOC_ID, &id) == 0 && id == slot.event_id;
}

void close_trigger(TriggerSlot* slot) {
  if (slot->fd < 0) return;
  g_perf_descriptors.remove(slot->fd);
  // The number may be the program's by now.
  if (intact(*slot)) ::close(slot->fd);
  slot->fd = -1;
}

// SigQ: queued/limit, for all processes of the user.
bool queue_has_room() {
  char text[4096];
  if (read_small_file("/proc/self/status", text, sizeof text) <= 0) return true;
  const char* at = strstr(text, "SigQ:\t");
  if (at == nullptr) return true;
  std::uint64_t queued = 0, limit = 0;
  at = parse_decimal(at + 6, &queued);
  if (*at != '/') return true;
  parse_decimal(at + 1, &limit);
  return limit >= queued + kQueueReserve;
}

bool probe(const TriggerPlan& plan, char* why, std::size_t room) {
  if (!queue_has_room()) {
    snprintf(why, room, "%s", messages::sampling::kPendingSignals);
    return false;
  }
  TriggerSlot slot;
  TriggerPlan trial = plan;
  trial.period_ns = 3'600'000'000'000;  // never fires
  const bool works = open_trigger(trial, static_cast<pid_t>(::syscall(SYS_gettid)), &slot);
  if (!works) snprintf(why, room, messages::sampling::kPerfEventOpen, strerrordesc_np(errno));
  close_trigger(&slot);
  return works;
}

// The event counts all CPU time of the thread but fires in user mode only, so a thread that
// spends a tenth of its time in the kernel would give a tenth fewer samples than asked for. The
// period is shortened by what was missed.
void correct_period(const TriggerPlan& plan, pid_t tid, TriggerSlot* slot) {
  constexpr std::uint64_t kSamplesToJudge = 25;
  const std::uint64_t cpu_ns = base::clock_ns(cpu_clock_of(tid));
  if (slot->corrected_cpu_ns == 0 || cpu_ns < slot->corrected_cpu_ns)
    slot->corrected_cpu_ns = cpu_ns;
  const std::uint64_t expected = (cpu_ns - slot->corrected_cpu_ns) / plan.period_ns;
  if (expected < kSamplesToJudge) return;
  const std::uint64_t answered = std::max<std::uint64_t>(slot->delivered, 1);
  const std::uint64_t wanted = slot->period_ns * answered / expected;
  slot->period_ns = std::clamp(wanted, plan.period_ns / 4, plan.period_ns);
  slot->corrected_cpu_ns = cpu_ns;
  slot->delivered = 0;
  ioctl(slot->fd, PERF_EVENT_IOC_PERIOD, &slot->period_ns);
}

void refill(const TriggerPlan& plan, pid_t tid, TriggerSlot* slot) {
  const std::uint32_t answers = g_perf_descriptors.take_signal_count(slot->fd);
  if (answers == 0) return;
  ioctl(slot->fd, PERF_EVENT_IOC_REFRESH, answers);
  slot->delivered += answers;
  correct_period(plan, tid, slot);
}

std::uint32_t effective_hz(const TriggerPlan& plan) { return plan.rate_hz; }

}  // namespace

constinit const TriggerKind kPerfTrigger{wire::SamplerKind::kPerf,
                                         "perf",
                                         probe,
                                         open_trigger,
                                         close_trigger,
                                         intact,
                                         effective_hz,
                                         nullptr,
                                         refill};

}  // namespace gpuprof::sample
