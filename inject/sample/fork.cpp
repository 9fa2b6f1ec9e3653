// SPDX-License-Identifier: Apache-2.0
//
// Sampling around a fork.
//
// Context:  boundary
// Owns:     nothing
// Promises: waits 5 ms at most; the child has no trigger, no descriptor and no fault handler of
//           ours; handlers of the sampling signal stay there, one is how the agent may wake up
//           again
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/sample/sampler_state.hpp"
#include "inject/sample/signals/alt_stacks.hpp"
#include "inject/sample/signals/handler.hpp"
#include "inject/sample/signals/handler_masks.hpp"
#include "inject/sample/signals/interrupted_syscalls.hpp"
#include "inject/sample/signals/sigqueue_limit.hpp"
#include "inject/sample/threads/threads.hpp"
#include "inject/sample/triggers/perf_event_fds.hpp"
#include "inject/sample/unwind/launch_stack_cache.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::uint32_t kMaxWaitMs = 5;

// The number may be the program's by now.
void close_if_ours(int fd, std::uint64_t event_id) {
  std::uint64_t id = 0;
  if (ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 && id == event_id) ::close(fd);
}

}  // namespace

void before_fork() {
  suspend_handler(true);
  // A handler at work may hold a lock of libunwind's pools, which the child would never see freed.
  const int saved = errno;
  wait_for_snapshot_readers(kMaxWaitMs);
  errno = saved;
}

void after_fork_parent() { suspend_handler(false); }

void after_fork_child() {
  disable_handler();
  suspend_handler(false);
  g_perf_descriptors.clear(close_if_ours);
  g_interrupted_waits.clear();
  reset_snapshot_readers();
  reset_sampler();
  reset_threads_after_fork();
  reset_alt_stacks_after_fork();
  reset_launch_stack_caches();
  disarm_guard();
  unwatch_sigqueue_limit();
  reset_handler_masks_after_fork();
}

}  // namespace gpuprof::sample
