// SPDX-License-Identifier: Apache-2.0
//
// Timers on the CPU clocks of threads, by system calls alone: nothing is allocated for them.
//
// Context:  boundary
#include "inject/activation/cpu_watch.hpp"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "inject/activation/cpu_watch_state.hpp"
#include "inject/sample/signals/alt_stacks.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

#if defined(__x86_64__)
// The bytes by which unwinders and debuggers know a signal's frame.
__asm__(R"(
  .text
  .hidden gpuprof_return_from_signal
  .globl gpuprof_return_from_signal
  .type gpuprof_return_from_signal, @function
  .balign 16
  nop
gpuprof_return_from_signal:
  movq $15, %rax
  syscall
  .size gpuprof_return_from_signal, . - gpuprof_return_from_signal
)");
extern "C" void gpuprof_return_from_signal();
#endif

namespace gpuprof::wake {

constinit std::atomic<bool> g_watching{false};
constinit CpuWatch g_cpu_watch;

namespace {

constinit bool g_handler_stands = false;

sample::KernelAction own_action() {
  constexpr std::uint64_t kRestorer = 0x04000000;
  // All but faults: whatever else comes waits until ours has returned.
  std::uint64_t mask = ~std::uint64_t{0};
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP})
    mask &= ~sample::signal_bit(fault);
  // On the alternate stack, where there is one: what runs may have a stack of its own making.
  constexpr std::uint64_t kFlags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
#if defined(__x86_64__)
  return {on_cpu_watch_signal, kFlags | kRestorer, gpuprof_return_from_signal, mask};
#else
  static_cast<void>(kRestorer);
  return {on_cpu_watch_signal, kFlags, nullptr, mask};
#endif
}

bool install_handler() {
  if (g_handler_stands) return true;
  const sample::KernelAction own = own_action();
  sample::KernelAction before{};
  if (!sample::kernel_sigaction(kCpuWatchSignal, &own, &before)) return false;
  if (before.is_function()) {
    sample::kernel_sigaction(kCpuWatchSignal, &before, nullptr);
    return false;
  }
  g_cpu_watch.was_ignored = before.is_ignored();
  g_handler_stands = true;
  return true;
}

void delete_timer(WatchedThread& thread) {
  const int timer = thread.timer.exchange(0, std::memory_order_acq_rel);
  if (timer != 0) ::syscall(SYS_timer_delete, timer - 1);
}

void watch_this_thread() {
  const std::uint32_t index = g_cpu_watch.threads.fetch_add(1, std::memory_order_relaxed);
  // A frame on its own stack may be too much for what it runs.
  if (index >= kMaxTimers || !sample::may_signal_this_thread()) return;
  WatchedThread& thread = g_cpu_watch.thread[index];
  sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kCpuWatchSignal;
  event.sigev_value.sival_ptr = &thread;
  const auto tid = static_cast<pid_t>(::syscall(SYS_gettid));
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = tid;
#else
  event._sigev_un._tid = tid;
#endif
  int timer = 0;
  if (::syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return;
  thread.timer.store(timer + 1, std::memory_order_release);
  if (!set_timer(thread, kActivationCpuNs) || !watching()) delete_timer(thread);
}

}  // namespace

namespace {

struct KeptStart {
  std::atomic<bool> taken{false};
  ThreadStart start{};
};
constinit KeptStart g_starts[kMaxTimers];

}  // namespace

bool set_timer(const WatchedThread& thread, std::uint64_t cpu_ns) {
  const int timer = thread.timer.load(std::memory_order_acquire);
  const itimerspec when{{0, 0}, {0, static_cast<long>(cpu_ns)}};
  return timer != 0 && ::syscall(SYS_timer_settime, timer - 1, 0, &when, nullptr) == 0;
}

void start_cpu_watch(Hook hook, int process) {
  const int saved = errno;
  if (install_handler()) {
    g_cpu_watch.hook.store(hook, std::memory_order_relaxed);
    g_cpu_watch.owner.store(process, std::memory_order_relaxed);
    g_watching.store(true, std::memory_order_release);
    watch_this_thread();
  }
  errno = saved;
}

void ignore_cpu_watch() { g_watching.store(false, std::memory_order_release); }

void stop_cpu_watch() {
  ignore_cpu_watch();
  if (g_cpu_watch.threads.load(std::memory_order_relaxed) == 0) return;
  const int saved = errno;
  for (WatchedThread& thread : g_cpu_watch.thread) delete_timer(thread);
  errno = saved;
}

void stop_cpu_watch_unless_vfork() {
  if (watching() && g_cpu_watch.owner.load(std::memory_order_relaxed) == getpid()) stop_cpu_watch();
}

void reset_cpu_watch_after_fork() {
  ignore_cpu_watch();
  for (WatchedThread& thread : g_cpu_watch.thread) {
    thread.timer.store(0, std::memory_order_relaxed);
    thread.looks = thread.looks_with_mask = 0;
  }
  g_cpu_watch.threads.store(0, std::memory_order_relaxed);
  // Of threads that are in the parent alone.
  for (KeptStart& kept : g_starts) kept.taken.store(false, std::memory_order_relaxed);
}

void on_new_thread() {
  const int saved = errno;
  const Hook hook = g_cpu_watch.hook.load(std::memory_order_relaxed);
  if (base::clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= kActivationCpuNs && hook != nullptr) hook();
  errno = saved;
}

namespace {

// Of these only a program that is about to end runs handlers.
constexpr std::uint64_t kFaults = sample::signal_bit(SIGSEGV) | sample::signal_bit(SIGBUS) |
                                  sample::signal_bit(SIGILL) | sample::signal_bit(SIGFPE) |
                                  sample::signal_bit(SIGTRAP) | sample::signal_bit(SIGABRT) |
                                  sample::signal_bit(SIGSYS);

bool handles_signals_on_alt_stacks() {
  for (int signal = 1; signal <= 64; ++signal) {
    sample::KernelAction action{};
    // The C library's own, of setuid in all threads, comes next to never.
    const bool librarys = signal == kCpuWatchSignal || signal == kCpuWatchSignal + 1;
    const bool ignored = librarys || (sample::signal_bit(signal) & kFaults) != 0;
    if (!ignored && sample::kernel_sigaction(signal, nullptr, &action) && action.is_function() &&
        (action.flags & SA_ONSTACK) != 0)
      return true;
  }
  return false;
}

}  // namespace

void on_alt_stack(const stack_t& stack) {
  constexpr std::size_t kRoomForTwo = 32u << 10;  // a frame takes up to 12 KiB
  if ((stack.ss_flags & SS_DISABLE) != 0 || stack.ss_size >= kRoomForTwo) return;
  const int saved = errno;
  if (handles_signals_on_alt_stacks()) stop_cpu_watch_unless_vfork();
  errno = saved;
}

void* reserve_thread_start(const ThreadStart& start) {
  if (g_cpu_watch.threads.load(std::memory_order_relaxed) >= kMaxTimers) return nullptr;
  for (KeptStart& kept : g_starts) {
    // acquire: pairs with the release of whoever gave it back
    if (kept.taken.load(std::memory_order_relaxed) ||
        kept.taken.exchange(true, std::memory_order_acquire))
      continue;
    kept.start = start;
    return &kept;
  }
  return nullptr;
}

void cancel_thread_start(void* reserved) {
  static_cast<KeptStart*>(reserved)->taken.store(false, std::memory_order_release);
}

ThreadStart begin_thread_start(void* reserved) {
  const ThreadStart start = static_cast<KeptStart*>(reserved)->start;
  cancel_thread_start(reserved);
  if (!watching()) return start;
  const int saved = errno;
  watch_this_thread();
  errno = saved;
  return start;
}

}  // namespace gpuprof::wake
