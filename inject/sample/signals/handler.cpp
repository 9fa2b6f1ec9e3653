// SPDX-License-Identifier: Apache-2.0
//
// The signal handler: whose signal is it, then one sample on a stack of our own.
//
// Context:  signal
// Owns:     nothing
// Promises: no lock, no allocation, no stdio; errno kept; no system call for a CPU timer's
//           signal, one for the thread's CPU time otherwise; three more on a thread that blocks
//           SIGSEGV or SIGBUS (fault_guard.hpp); a few where a waiting call was cut short
#include "inject/sample/signals/handler.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/fault_guard/recovery_point.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/sample/signals/alt_stacks.hpp"
#include "inject/sample/signals/handler_stack.hpp"
#include "inject/sample/signals/handler_state.hpp"
#include "inject/sample/signals/interrupted_syscalls.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"
#include "inject/sample/triggers/perf_event_fds.hpp"

namespace gpuprof::sample {

constinit PerfEventFds g_perf_descriptors;
constinit HandlerState g_handler;
constinit HandlerRuns g_handler_runs;
constinit InterruptedWaits g_interrupted_waits;

namespace {

enum class SignalOrigin { kOurs, kLate, kForeign };

struct Sender {
  SignalOrigin origin;
  std::uint32_t tid;      // of this thread, where the signal is ours
  std::uint32_t periods;  // that it stands for; 0: not told
};

Sender sender_if_own(SignalOrigin otherwise, std::uint32_t tid, std::uint32_t periods = 0) {
  return Sender{tid != 0 ? SignalOrigin::kOurs : otherwise, tid, periods};
}

std::uint32_t periods_of(const siginfo_t* info) {
  return info->si_overrun < 0 ? 1 : static_cast<std::uint32_t>(info->si_overrun) + 1;
}

Sender sender_of(const siginfo_t* info) {
  switch (info->si_code) {
    case POLL_IN:
    case POLL_ERR:
    case POLL_HUP:
      return sender_if_own(g_perf_descriptors.may_have_had(info->si_fd) ? SignalOrigin::kLate
                                                                        : SignalOrigin::kForeign,
                           g_perf_descriptors.on_signal(info->si_fd));
    case SI_TIMER:
      return sender_if_own(info->si_value.sival_ptr == hot::resume_cookie()
                               ? SignalOrigin::kLate
                               : SignalOrigin::kForeign,
                           tid_of_cookie(info->si_value.sival_ptr), periods_of(info));
    case SI_QUEUE:
      return sender_if_own(SignalOrigin::kForeign, tid_of_cookie(info->si_value.sival_ptr));
    default:
      return Sender{SignalOrigin::kForeign, 0, 0};
  }
}

bool is_ours(int signal, const siginfo_t& info) {
  if ((own_signals() & signal_bit(signal)) == 0) return false;
  switch (info.si_code) {
    case POLL_IN:
    case POLL_ERR:
    case POLL_HUP:
      return g_perf_descriptors.may_have_had(info.si_fd);  // it may be closed by now
    case SI_TIMER:
      return info.si_value.sival_ptr == hot::resume_cookie() ||
             tid_of_cookie(info.si_value.sival_ptr) != 0;
    case SI_QUEUE:
      return tid_of_cookie(info.si_value.sival_ptr) != 0;
    default:
      return false;
  }
}

// Before us the signal's action was the default, which ends the process.
void act_as_default(int signal, const siginfo_t* info) {
  const KernelAction standard{nullptr, 0, nullptr, 0};
  kernel_sigaction(signal, &standard, nullptr);
  send_to_self(signal, info);
  change_mask(SIG_UNBLOCK, signal_bit(signal));  // the mask to be restored may block it
}

struct Job {
  const hot::Guard* guard;
  const ucontext_t* context;
  HandlerMemory* memory;
  std::uint32_t periods;
};

// CPU time since this thread's last sample: a signal may stand for several periods. A timer says
// for how many, without a system call, which a filter of the program's may forbid.
std::uint64_t weight_of(const Job& job) {
  if (job.periods != 0) return job.periods * g_handler.settings.period_ns;
  HandlerMemory& memory = *job.memory;
  const std::uint32_t tid = job.guard->tid();
  const std::uint64_t cpu_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const std::uint32_t run = g_handler.run.load(std::memory_order_relaxed);
  const bool first = memory.tid != tid || memory.run != run || cpu_ns < memory.last_cpu_ns;
  const std::uint64_t weight = first ? g_handler.settings.period_ns : cpu_ns - memory.last_cpu_ns;
  memory = HandlerMemory{tid, run, cpu_ns};
  return weight;
}

void take_sample(void* argument) {
  const Job& job = *static_cast<Job*>(argument);
  const std::uint64_t ts_ns = base::mono_ns();
  const UnblockFaultSignals open(mask_of(job.context));
  StackRequest request;
  registers_of(job.context, &request.start);
  request.interrupted = true;
  request.parts = g_handler.settings.parts;
  const std::uint64_t stack = capture_stack(*job.guard, request, ts_ns);
  const wire::Sample sample{ts_ns, stack, job.guard->tid(),
                            static_cast<std::uint32_t>(wire::SampleState::kRunning),
                            weight_of(job)};
  hot::record(*job.guard, sample, ts_ns);
  hot::count(wire::Counter::kSamplesTaken);
}

// Each period had queued one: they would cut as many waits short.
void take_queued(int signal) {
  const std::uint64_t ours = signal_bit(signal);
  const timespec none{0, 0};
  siginfo_t info;
  while (::syscall(SYS_rt_sigtimedwait, &ours, &info, &none, sizeof ours) == signal)
    if (sender_of(&info).origin == SignalOrigin::kForeign) return act_as_default(signal, &info);
}

// Not for the worker, which may get no processor for long, to do. By the kernel's own id of the
// timer: it gives none twice. A perf event's descriptor is in the worker's table.
void disarm_timer(const siginfo_t* info) {
  const itimerspec never{};
  if (info->si_code == SI_TIMER)
    ::syscall(SYS_timer_settime, info->si_timerid, 0, &never, static_cast<void*>(nullptr));
}

// The mask to be restored blocks the sampling signal: what let it in was the mask of a waiting
// call, which now comes back early. A timer does so once; what else there is goes when the worker
// comes.
bool interrupted_a_wait(int signal, const siginfo_t* info, const ucontext_t* context,
                        const Sender& sender) {
  if ((mask_of(context) & signal_bit(signal)) == 0) return false;
  if (sender.origin == SignalOrigin::kOurs) {
    const InterruptedWait cut = g_interrupted_waits.add(sender.tid);
    if (cut == InterruptedWait::kFirst) hot::wake_worker();
    if (cut == InterruptedWait::kAgain) hot::count(wire::Counter::kWaitsInterruptedAgain);
    if (cut != InterruptedWait::kTableFull) disarm_timer(info);  // the worker would not know
  }
  take_queued(signal);
  return true;
}

// A call of the thread's own for its id is one that a filter of the program's may forbid.
bool has_place(std::uint32_t tid) {
  return hot::t_local.slot != nullptr || hot::claim_slot(tid) != nullptr;
}

__attribute__((noinline)) void sample_here(const ucontext_t* context, const Sender& sender,
                                           std::uint64_t entered_ns) {
  SnapshotReader at_work;
  if (!g_handler.enabled.load(std::memory_order_seq_cst) || !hot::on(hot::kOnSamples)) {
    hot::count(wire::Counter::kSamplesWhileOff);
    return;
  }
  if (g_handler.suspended.load(std::memory_order_seq_cst)) {
    hot::count(wire::Counter::kSamplesDuringFork);
    return;
  }
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool on_ours = is_on_own_alt_stack(reinterpret_cast<const void*>(here));
  if (on_alternate_stack(context, stack_pointer(context)) ||
      (!on_ours && on_alternate_stack(context, here))) {
    // A fault of ours would be handled at its top, over the frames of whoever is on it now.
    hot::count(wire::Counter::kSamplesNoStackRoom);
    return;
  }
  if (!has_place(sender.tid)) return;
  hot::Guard guard(hot::RingRole::kSignal);
  if (!guard) return;
  guard.producer().overhead.set_begin(entered_ns);
  const HandlerStack own = handler_stack_of(guard.producer().entry);
  if (own.memory == nullptr) {
    hot::count(wire::Counter::kSamplesNoStackRoom);
    return;
  }
  Job job{&guard, context, own.memory, sender.periods};
  // Off it, its top would be where the kernel puts the next frame: over this one.
  if (on_ours)
    take_sample(&job);
  else
    gpuprof_call_on_stack(own.top, take_sample, &job);
}

}  // namespace

std::uint64_t own_signals() {
  const int signal = g_handler.signal.load(std::memory_order_acquire);
  return g_handler.retired.load(std::memory_order_acquire) | (signal != 0 ? signal_bit(signal) : 0);
}

bool consume_own_signal(int signal, const siginfo_t& info) {
  if (!is_ours(signal, info)) return false;
  const int saved = errno;
  hot::resume_if_parked();
  if (hot::is_owner_process()) hot::count(wire::Counter::kSamplesWhileOff);
  errno = saved;
  return true;
}

// The kernel hands out the thread's signals before the process's, in their order: behind a mark of
// ours are those of the process, which are not touched, and what has gone round.
void discard_own_pending(int signal, bool heed) {
  const int saved = errno;
  const std::uint64_t only = signal_bit(signal);
  const timespec none{0, 0};
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_value.sival_ptr = &info;
  const auto is_mark = [&] { return info.si_code == SI_QUEUE && info.si_value.sival_ptr == &info; };
  if ((pending_signals() & only) != 0 && send_to_self(signal, &info))
    while (::syscall(SYS_rt_sigtimedwait, &only, &info, &none, sizeof only) == signal &&
           !is_mark()) {
      if (!is_ours(signal, info))
        send_to_self(signal, &info);
      else if (heed)
        consume_own_signal(signal, info);
    }
  errno = saved;
}

void on_sample_signal(int signal, siginfo_t* info, void* context) {
  clear_alignment_check();
  hot::resume_if_parked();
  const int saved = errno;
  const bool measured = hot::g_state.measures_overhead.load(std::memory_order_relaxed);
  const std::uint64_t entered_ns = measured ? base::mono_ns() : 0;
  const auto* interrupted = static_cast<const ucontext_t*>(context);
  const Sender sender = sender_of(info);
  if (sender.origin == SignalOrigin::kForeign) {
    act_as_default(signal, info);
  } else if (hot::is_owner_process()) {
    const bool in_a_wait = interrupted_a_wait(signal, info, interrupted, sender);
    if (sender.origin == SignalOrigin::kLate)
      hot::count(wire::Counter::kSamplesWhileOff);
    else if (!in_a_wait)
      sample_here(interrupted, sender, entered_ns);
  }
  if (sender.tid != 0) g_handler_runs.add(sender.tid);
  errno = saved;
}

}  // namespace gpuprof::sample
