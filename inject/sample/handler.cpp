// SPDX-License-Identifier: Apache-2.0
//
// The signal handler: whose signal is it, then one sample on a stack of our own.
//
// Context:  signal
// Owns:     nothing
// Promises: no lock, no allocation, no stdio; errno kept; at most one system call for the thread's
//           CPU time, one for its identity once
#include "inject/sample/handler.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker_thread.hpp"
#include "inject/sample/alt_stacks.hpp"
#include "inject/sample/handler_state.hpp"
#include "inject/sample/kernel_signal.hpp"
#include "inject/sample/landing.hpp"
#include "inject/sample/own_stack.hpp"
#include "inject/sample/perf_descriptors.hpp"
#include "inject/sample/phdr_snapshot.hpp"

namespace gpuprof::sample {

constinit PerfDescriptors g_perf_descriptors;
constinit HandlerState g_handler;

namespace {

enum class Origin { kOurs, kLate, kStranger };

Origin origin_of(const siginfo_t* info) {
  switch (info->si_code) {
    case POLL_IN:
    case POLL_HUP:
      return g_perf_descriptors.answer(info->si_fd) ? Origin::kOurs : Origin::kLate;
    case SI_TIMER:
      return info->si_value.sival_ptr == &g_handler ? Origin::kOurs : Origin::kLate;
    case SI_QUEUE:
      return info->si_value.sival_ptr == &g_handler ? Origin::kOurs : Origin::kStranger;
    case SI_USER:
    case SI_TKILL:
      return Origin::kStranger;
    default:
      return Origin::kLate;
  }
}

// Before us the signal's action was the default, which ends the process.
void act_as_default(int signal, const siginfo_t* info) {
  const KernelAction standard{nullptr, 0, nullptr, 0};
  kernel_action(signal, &standard, nullptr);
  send_to_self(signal, info);
}

// The thread's alternate stack, whoever chose it.
bool on_alternate_stack(const ucontext_t* context, std::uintptr_t address) {
  const auto low = reinterpret_cast<std::uintptr_t>(context->uc_stack.ss_sp);
  return (context->uc_stack.ss_flags & SS_DISABLE) == 0 &&
         address - low < context->uc_stack.ss_size;
}

std::uint64_t kernel_mask(const ucontext_t* context) {
  std::uint64_t mask;
  __builtin_memcpy(&mask, &context->uc_sigmask, sizeof mask);
  return mask;
}

struct Job {
  const hot::Guard* guard;
  const ucontext_t* context;
  HandlerMemory* memory;
};

// CPU time since this thread's last sample: a signal may stand for several periods.
std::uint64_t weight_of(HandlerMemory& memory, std::uint32_t tid) {
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
  // Restored by the return from the handler.
  if ((kernel_mask(job.context) & kFaultSignals) != 0) open_fault_signals();
  StackRequest request;
  registers_of(job.context, &request.start);
  request.interrupted = true;
  request.parts = g_handler.settings.parts;
  const std::uint64_t stack = take_stack(*job.guard, request, ts_ns);
  const std::uint32_t tid = job.guard->tid();
  const wire::Sample sample{ts_ns, stack, tid,
                            static_cast<std::uint32_t>(wire::SampleState::kRunning),
                            weight_of(*job.memory, tid)};
  hot::record(*job.guard, sample, ts_ns);
  hot::count(wire::Counter::kSamplesTaken);
}

__attribute__((noinline)) void sample_here(const ucontext_t* context, std::uint64_t entered_ns) {
  SnapshotUse at_work;
  if (!g_handler.open.load(std::memory_order_seq_cst) || !hot::on(hot::kOnSamples)) {
    hot::count(wire::Counter::kSamplesLateSignal);
    return;
  }
  if (g_handler.held.load(std::memory_order_seq_cst)) return;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool on_ours = on_our_alt_stack(reinterpret_cast<const void*>(here));
  if (on_alternate_stack(context, stack_pointer(context)) ||
      (!on_ours && on_alternate_stack(context, here))) {
    // A fault of ours would be handled at its top, over the frames of whoever is on it now.
    hot::count(wire::Counter::kSamplesNoStackRoom);
    return;
  }
  hot::Guard guard(hot::Role::kSignal);
  if (!guard) return;
  guard.outlet().cost.began_at(entered_ns);
  const OwnStack own = own_stack_of(guard.outlet().entry);
  if (own.memory == nullptr) {
    hot::count(wire::Counter::kSamplesNoStackRoom);
    return;
  }
  Job job{&guard, context, own.memory};
  // Off it, its top would be where the kernel puts the next frame: over this one.
  if (on_ours)
    take_sample(&job);
  else
    gpuprof_call_on_stack(own.top, take_sample, &job);
}

}  // namespace

void on_sample_signal(int signal, siginfo_t* info, void* context) {
  hot::resume_if_parked();
  const int saved = errno;
  const bool measured = hot::g_state.measures_itself.load(std::memory_order_relaxed);
  const std::uint64_t entered_ns = measured ? base::mono_ns() : 0;
  const Origin origin = origin_of(info);
  if (origin == Origin::kStranger) {
    act_as_default(signal, info);
  } else if (hot::alive()) {
    if (origin == Origin::kOurs)
      sample_here(static_cast<ucontext_t*>(context), entered_ns);
    else
      hot::count(wire::Counter::kSamplesLateSignal);
  }
  errno = saved;
}

}  // namespace gpuprof::sample
