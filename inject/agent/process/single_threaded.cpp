// SPDX-License-Identifier: Apache-2.0
//
// fork and exit of a program with one thread, in a handler that may have interrupted malloc.
//
// Context:  boundary; unhook_fork_exit: worker
// Owns:     the slots of the program's modules through which it calls them, where we came later
// Promises: nothing but a look at two words where the program has threads; the worker thread stands
//           still before the C library is notified of one thread, and until it is notified of two
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/agent/agent.hpp"
#include "inject/agent/core.hpp"
#include "inject/agent/process/libc_replacements.hpp"
#include "inject/hot/worker/glibc_threads.hpp"

namespace gpuprof::agent {

namespace {

// In a handler the alternative may be to wait for ever.
constexpr std::uint32_t kPatientMs = 10'000;

// In a vfork child all our memory is the parent's.
bool is_own_process() {
  if (g_agent.shut_down.load(std::memory_order_acquire) || !hot::libc_locks_needlessly())
    return false;
  const pid_t owner = g_agent.owner_pid.load(std::memory_order_acquire);
  return owner == 0 || owner == getpid();
}

constinit got::Patches g_ends(kForkExitReplacements);

}  // namespace

void hook_fork_exit() {
  hot::find_glibc_thread_count();
  if (kForkExitReplacements != nullptr && hot::is_single_threaded() && !got::is_preloaded())
    g_ends.apply_to_initial();
}

void unhook_fork_exit() {
  if (kForkExitReplacements != nullptr && !hot::libc_locks_needlessly()) g_ends.restore();
}

// The kernel does not say so; but a handler's own signal is blocked while it runs.
bool may_be_in_handler() {
  std::uint64_t blocked = 0;
  return ::syscall(SYS_rt_sigprocmask, 0, nullptr, &blocked, sizeof blocked) == 0 && blocked != 0;
}

ForkCall before_fork_call() {
  if (!is_own_process()) return {};
  const int saved = errno;
  fork_prepare();
  const ForkCall call{true, hot::set_single_threaded(may_be_in_handler() ? kPatientMs : 0)};
  errno = saved;
  return call;
}

void after_fork_call(ForkCall call, pid_t child) {
  if (call.single_threaded) hot::clear_single_threaded();
  if (call.prepared && child != 0) fork_parent();
}

void on_exit_call() {
  if (!is_own_process() || !may_be_in_handler()) return;
  const int saved = errno;
  begin_single_threaded();
  if (!hot::set_single_threaded(kPatientMs)) end_single_threaded();
  errno = saved;
}

}  // namespace gpuprof::agent
