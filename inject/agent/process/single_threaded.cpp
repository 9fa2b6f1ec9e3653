// SPDX-License-Identifier: Apache-2.0
//
// fork and exit of a program with one thread, in a handler that may have interrupted malloc.
//
// Context:  boundary; restore_end_calls: worker
// Owns:     the slots of the program's modules through which it calls them, where we came later
// Promises: nothing but a look at two words where the program has threads; our thread stands still
//           before the C library is told of one thread, and until it is told of two
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
bool is_ours_to_tell() {
  if (g_core.left.load(std::memory_order_acquire) || !hot::locks_for_one_thread()) return false;
  const pid_t owner = g_core.owner_pid.load(std::memory_order_acquire);
  return owner == 0 || owner == getpid();
}

constinit got::Patches g_ends(kEndCalls);

}  // namespace

void follow_end_calls() {
  hot::find_thread_count();
  if (kEndCalls != nullptr && hot::has_one_thread() && !got::in_front()) g_ends.follow_first();
}

void restore_end_calls() {
  if (kEndCalls != nullptr && !hot::locks_for_one_thread()) g_ends.restore();
}

// The kernel does not say so; but a handler's own signal is blocked while it runs.
bool may_be_in_handler() {
  std::uint64_t blocked = 0;
  return ::syscall(SYS_rt_sigprocmask, 0, nullptr, &blocked, sizeof blocked) == 0 && blocked != 0;
}

ForkCall fork_begin() {
  if (!is_ours_to_tell()) return {};
  const int saved = errno;
  fork_prepare();
  const ForkCall call{true, hot::begin_one_thread(may_be_in_handler() ? kPatientMs : 0)};
  errno = saved;
  return call;
}

void fork_end(ForkCall call, pid_t child) {
  if (call.alone) hot::end_one_thread();
  if (call.prepared && child != 0) fork_parent();
}

void exit_begin() {
  if (!is_ours_to_tell() || !may_be_in_handler()) return;
  const int saved = errno;
  alone_begin();
  if (!hot::begin_one_thread(kPatientMs)) alone_end();
  errno = saved;
}

}  // namespace gpuprof::agent
