// SPDX-License-Identifier: Apache-2.0
//
// fork: the worker stands still or is gone while it happens, the child starts with nothing.
//
// Context:  boundary (resume_from_signal: signal)
// Promises: the prepare handler waits 200 ms at most (50 us as a rule), and 10 s more for a thread
//           of ours that gets no processor or is inside the kernel, where the interpreter would
//           warn of it; the child does nothing until it has used some CPU time, or CUDA or NVTX
//           call us. Of threads that fork at the same time one waits for all (fork_lock.hpp)
#include <errno.h>
#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "inject/activation/cpu_watch.hpp"
#include "inject/agent/agent.hpp"
#include "inject/agent/core.hpp"
#include "inject/agent/process/fork_lock.hpp"
#include "inject/agent/segment_map.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/hot/worker/glibc_threads.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/sample/signals/alt_stacks.hpp"
#include "inject/torch/memory/program_block_table.hpp"
#include "inject/torch/torch.hpp"

namespace gpuprof::agent {

namespace {

constexpr std::uint32_t kParkDeadlineMs = 200;
// A child that lives on (a DataLoader worker) uses this much soon; one that only execs never does.
constexpr std::uint64_t kChildWakeCpuNs = 10'000'000;
// After fork() has returned Python looks at the number of threads; this is past that. Of CPU time
// for the timer; samples come whenever they come, to them it is time.
constexpr std::uint64_t kParentResumeCpuNs = 3'000'000;

// Of all forks that are under way: changed by whose turn it is, read in the child.
struct ForkState {
  bool running = false;  // the agent was awake when one of them began
  bool parked = false;   // the worker's kernel thread is gone
  bool paused = false;   // it stands still
  bool inside = false;   // a handler, which may have interrupted malloc
};
constinit ForkState g_fork;
bool g_alone = false;          // in the turn of whose call it is
std::uint32_t g_gone_tid = 0;  // the last worker that is known to be no thread any more
std::atomic<std::uint32_t> g_child_reasons{0};
std::atomic<std::uint64_t> g_forked_ns{0};

bool awake() {
  const std::uint32_t phase = g_agent.phase.load(std::memory_order_acquire);
  return phase == static_cast<std::uint32_t>(Phase::kReady) ||
         phase == static_cast<std::uint32_t>(Phase::kStarting) ||
         phase == static_cast<std::uint32_t>(Phase::kArmed);
}

// Python 3.12 and later look at the number of the kernel's threads after each fork, and warn. What
// must get its signals on stacks of ours has threads of its own and is warned of them.
bool counts_threads() {
  return (g_agent.python_warns_of_threads || python::minor_version() >= 12) &&
         !sample::alt_stacks_enabled();
}

void resume_from_signal() {
  if (g_agent.shut_down.load(std::memory_order_acquire)) return;
  if (g_agent.owner_pid.load(std::memory_order_acquire) == getpid()) {
    const std::uint64_t forked_ns = g_forked_ns.load(std::memory_order_relaxed);
    if (base::mono_ns() - forked_ns >= kParentResumeCpuNs) hot::worker_resume();
    return;
  }
  const std::uint32_t why = g_child_reasons.exchange(0, std::memory_order_acq_rel);
  if (why != 0) wake(why);
}

}  // namespace

void begin_single_threaded() {
  if (g_agent.shut_down.load(std::memory_order_acquire)) return;
  if (!awake() || g_agent.owner_pid.load(std::memory_order_acquire) != getpid()) return;
  const int saved = errno;
  if (!lock_when_no_fork(kParkDeadlineMs)) return;
  hot::g_resume_hook = resume_from_signal;
  g_alone = hot::worker_park(kParkDeadlineMs, hot::kStarvationLimitMs);
  if (!g_alone) unlock_fork();
  errno = saved;
}

void end_single_threaded() {
  // A vfork child comes by with the memory of its parent.
  if (g_agent.owner_pid.load(std::memory_order_acquire) != getpid()) return;
  if (!g_alone || !holds_fork_lock()) return;
  const int saved = errno;
  g_alone = false;
  hot::worker_allow_resume();
  if (awake()) hot::worker_resume();
  unlock_fork();
  errno = saved;
}

namespace {

// One that has detached a moment ago is counted until it has ended.
void wait_for_worker_exit() {
  const std::uint32_t last = hot::g_state.worker_tid.load(std::memory_order_relaxed);
  if (last == g_gone_tid || !counts_threads()) return;
  const int saved = errno;
  if (hot::worker_park(kParkDeadlineMs, hot::kStarvationLimitMs)) g_gone_tid = last;
  hot::worker_allow_resume();
  if (awake()) hot::worker_resume();  // it was woken meanwhile
  errno = saved;
}

void resume_parked_worker() {
  // It may have released all while the fork waited for it.
  const int signal = awake() ? sample::claim_signal() : 0;
  const bool later = signal != 0 && hot::worker_resume_after_cpu(kParentResumeCpuNs, signal);
  hot::g_state.parked_by_fork.store(later, std::memory_order_relaxed);
  hot::worker_allow_resume();
  if (!later && awake()) hot::worker_resume();
}

}  // namespace

namespace {

void pause_worker() {
  if (g_agent.owner_pid.load(std::memory_order_acquire) != getpid()) return;
  if (!awake()) return wait_for_worker_exit();
  g_fork.running = true;
  hot::g_resume_hook = resume_from_signal;
  sample::before_fork();
  const bool counts = counts_threads();
  // There it would wait for a lock that only it could give back.
  g_fork.inside = hot::libc_locks_needlessly() && may_be_in_handler();
  const std::uint32_t starved_ms = counts || g_fork.inside ? hot::kStarvationLimitMs : 0;
  cupti::before_fork(starved_ms);
  if (counts)
    g_fork.parked = hot::worker_park(kParkDeadlineMs, starved_ms);
  else
    g_fork.paused = hot::worker_pause(kParkDeadlineMs, starved_ms);
  if (!g_fork.parked && !g_fork.paused) hot::count(wire::Counter::kForksWithoutPause);
  cupti::on_worker_paused_before_fork(starved_ms);
}

void unpause_worker() {
  // It makes a thread, which allocates.
  if (!g_fork.parked && !g_fork.inside) cupti::after_fork_parent();
  sample::after_fork_parent();
  if (g_fork.paused) hot::worker_unpause();
  if (g_fork.parked) {
    g_forked_ns.store(base::mono_ns(), std::memory_order_relaxed);
    resume_parked_worker();
  }
}

}  // namespace

void fork_prepare() {
  if (g_agent.shut_down.load(std::memory_order_acquire)) return;
  const int saved = errno;
  g_pending_forks.wait_for_gap();
  {
    const ForkLock turn;
    if (g_pending_forks.begin()) g_fork = ForkState{};
    // One that began before the agent woke has not waited for anything.
    if (!g_fork.running) pause_worker();
  }
  errno = saved;
}

void fork_parent() {
  const int saved = errno;
  if (g_pending_forks.any()) {
    const ForkLock turn;
    if (g_pending_forks.end() && g_fork.running) unpause_worker();
  }
  errno = saved;
}

namespace {

// By the signal of samples, whose handler is there; while nothing is recorded there is none yet.
void wake_python_child() {
  const int signal = sample::claim_signal();
  if (signal == 0) return;
  // The command is one process: its children are descendants like any other.
  g_child_reasons.store(wire::kWakePython, std::memory_order_release);
  if (sample::may_signal_this_thread()) hot::worker_resume_after_cpu(kChildWakeCpuNs, signal);
}

void wake_working_child() {
  wake(wire::kWakeCpuTime | g_child_reasons.exchange(0, std::memory_order_acq_rel));
}

// A child that lives on is a process like any other: also one that works in threads of its own.
void watch_child() {
  wake::reset_cpu_watch_after_fork();
  const auto phase = static_cast<Phase>(g_agent.phase.load(std::memory_order_relaxed));
  if (g_agent.has_address && !g_agent.shut_down.load(std::memory_order_relaxed) &&
      phase == Phase::kDormant)
    activate_on_cpu_time(getpid(), wake_working_child);
}

}  // namespace

void fork_child() {
  torch::reset_block_table_lock();
  reset_fork_lock_after_fork();
  if (!g_fork.running) {
    if (!wake::watching()) return;
    sample::reset_alt_stacks_after_fork();
    watch_child();
    return;
  }
  const int saved = errno;
  const std::uint32_t why = g_agent.wake_reasons.load(std::memory_order_relaxed);
  hot::worker_after_fork_child();
  hot::reset_threads_after_fork();
  drop_segment_after_fork();
  cupti::after_fork_child();
  sample::after_fork_child();
  python::after_fork_child();
  torch::after_fork_child();
  // With a table of its own the worker's descriptors have not come along.
  if (g_agent.private_fd_table)
    g_agent.connection.forget_descriptor(), g_agent.control_connection.forget_descriptor(),
        g_agent.wakeup_fd.fd = -1;
  g_agent.control_socket.abandon_to_parent(!g_agent.private_fd_table);
  g_agent.connection.close();
  g_agent.send_queue.clear();
  g_agent.control_connection.close();
  g_agent.wakeup_fd.close();
  g_agent.owner_pid.store(0, std::memory_order_release);
  g_agent.components_configured = false;
  g_agent.join_ns = g_agent.armed_ns = 0;
  g_agent.cuda_started_early_ns.store(0, std::memory_order_relaxed);
  g_agent.address.nonce = g_agent.address.idle_timeout_ms = 0;
  g_agent.wake_reasons.store(0, std::memory_order_relaxed);
  g_agent.reported_wake_reasons = 0;
  g_agent.phase.store(static_cast<std::uint32_t>(Phase::kDormant), std::memory_order_release);
  if ((why & wire::kWakePython) != 0 && (g_fork.parked || g_fork.paused)) wake_python_child();
  watch_child();
  errno = saved;
}

}  // namespace gpuprof::agent
