// SPDX-License-Identifier: Apache-2.0
//
// The handler: a thread has worked. Wakes the process if what was interrupted may be followed by
// calls of the C library, else comes again a little later.
//
// Context:  signal; the hook: as boundary, since nothing is interrupted that it could disturb
// Owns:     nothing
// Promises: errno kept; before the hook two system calls at the most; a signal of that number that
//           somebody sent acts as without us
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "inject/activation/cpu_watch_state.hpp"
#include "inject/activation/safe_point.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/sample/fault_guard/recovery_point.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::wake {

namespace {

constexpr std::size_t kStackBytes = 128u << 10;

WatchedThread* thread_of(const siginfo_t* info) {
  if (info->si_code != SI_TIMER) return nullptr;
  auto* thread = static_cast<WatchedThread*>(info->si_value.sival_ptr);
  const std::uintptr_t into = reinterpret_cast<std::uintptr_t>(thread) -
                              reinterpret_cast<std::uintptr_t>(g_cpu_watch.thread);
  return into < sizeof g_cpu_watch.thread && into % sizeof(WatchedThread) == 0 ? thread : nullptr;
}

// Before us the signal's action was the default, which ends the process, or to ignore it: so the C
// library's posix_spawn, system and popen start every program.
void forward_signal(int signal, const siginfo_t* info) {
  if (g_cpu_watch.was_ignored) return;
  const sample::KernelAction standard{nullptr, 0, nullptr, 0};
  sample::kernel_sigaction(signal, &standard, nullptr);
  sample::send_to_self(signal, info);
  sample::change_mask(SIG_UNBLOCK, sample::signal_bit(signal));
}

void call_hook(void*) {
  const Hook hook = g_cpu_watch.hook.load(std::memory_order_relaxed);
  if (hook != nullptr) hook();
}

// The interrupted one may be a fiber's, or an alternate one of 8 KiB.
bool call_hook_on_own_stack() {
  const long memory = ::syscall(SYS_mmap, nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == -1) return false;
  sample::gpuprof_call_on_stack(reinterpret_cast<char*>(memory) + kStackBytes, call_hook, nullptr);
  ::syscall(SYS_munmap, memory, kStackBytes);
  return true;
}

// A handler of the program's blocks its signal while it runs, and may have come in the middle of
// anything. Some threads block a few for good: after a while that is what it is.
bool may_be_in_a_handler(WatchedThread& thread, const ucontext_t* context) {
  constexpr std::uint32_t kLooks = 25;
  constexpr std::uint64_t kOfTheCLibrary =
      sample::signal_bit(kCpuWatchSignal) | sample::signal_bit(kCpuWatchSignal + 1);
  const std::uint64_t mask = sample::mask_of(context) & ~kOfTheCLibrary;
  if (mask == 0) return false;
  thread.looks_with_mask = mask == thread.mask ? thread.looks_with_mask + 1 : 0;
  thread.mask = mask;
  return thread.looks_with_mask < kLooks;
}

// A few at each tick of the kernel's, then ten a second.
void rearm_timer(WatchedThread& thread) {
  constexpr std::uint32_t kFew = 50;
  ++thread.looks;
  set_timer(thread, thread.looks < kFew ? 1'000'000 : 100'000'000);
}

void activate_if_safe(WatchedThread& thread, const ucontext_t* context) {
  // One that exists is continued without the C library (hot/worker/worker_resume.cpp).
  if (hot::worker_parked()) return call_hook(nullptr);
  if (may_be_in_a_handler(thread, context) || !is_safe_point(context) || !call_hook_on_own_stack())
    rearm_timer(thread);
}

}  // namespace

void on_cpu_watch_signal(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  WatchedThread* thread = thread_of(info);
  if (thread == nullptr)
    forward_signal(signal, info);
  else if (watching())
    activate_if_safe(*thread, static_cast<const ucontext_t*>(context));
  errno = saved;
}

}  // namespace gpuprof::wake
