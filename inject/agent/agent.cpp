// SPDX-License-Identifier: Apache-2.0
//
// Waking up, from whichever door.
//
// Context:  boundary
#include "inject/agent/agent.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "inject/activation/cpu_watch.hpp"
#include "inject/agent/core.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker/glibc_threads.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/modules/toolchain.hpp"
#include "inject/sample/program_kind.hpp"
#include "inject/sample/signals/alt_stacks.hpp"
#include "inject/torch/memory/allocations.hpp"

namespace gpuprof::agent {

constinit Core g_core;

namespace {

// The driver opens whatever this names; another tool's file there means that we must look for
// CUDA ourselves.
bool injection_names_us() {
  constexpr char kName[] = "libgpuprof_inject.so";
  const char* path = getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return false;
  const std::size_t bytes = strlen(path), name = sizeof kName - 1;
  return bytes >= name && strcmp(path + bytes - name, kName) == 0;
}

}  // namespace

void set_phase(Phase phase) {
  if (phase != Phase::kReady && phase != Phase::kStarting) torch::settle_cpu_memory(false);
  g_core.phase.store(static_cast<std::uint32_t>(phase), std::memory_order_release);
  ::syscall(SYS_futex, &g_core.phase, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

namespace {

// Longer than a stopped thread needs to be let go.
constexpr long kFirstWaitNs = 5'000'000;

// PR_SET_TSC: the counter is refused by SIGSEGV, and with it the C library's clocks.
bool may_read_time() {
  int how = 0;
  return prctl(PR_GET_TSC, &how, 0, 0, 0) != 0 || how != PR_TSC_SIGSEGV;
}

void take_address() {
  g_core.has_address = true;
  g_core.load_ns = base::mono_ns();
  g_core.injection_is_ours = injection_names_us();
  if (!g_core.fork_hooked)
    g_core.fork_hooked = pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
}

}  // namespace

void load(bool python_linked, unsigned long python_version, bool sanitized) {
  g_core.python_linked = python_linked;
  g_core.python_counts_threads = python_version >= 0x030c0000;
  if (!parse_address(getenv(wire::kSocketVariable), &g_core.address)) return;
  take_address();
  std::uint32_t why = 0;
  const pid_t process = getpid();
  if (g_core.address.command_pid == static_cast<std::uint32_t>(process)) why |= wire::kWokeCommand;
  if (python_linked) why |= wire::kWokePython;
  // A forked child knows from its parent; there the loader's lock may be nobody's.
  sample::note_listed_stack_needs();
  if (why != 0) {
    sample::give_alt_stack();
    return wake(why);
  }
  // What needs no library may run its threads without the C library's block.
  if (g_core.address.restricted || sanitized || modules::program_needs_no_library()) return;
  hot::find_thread_count();
  watch_work(process, [] { agent::wake(wire::kWokeWork); });
}

void watch_work(pid_t process, void (*hook)()) {
  sample::give_alt_stack();
  wake::begin_watch(hook, process);
}

int attach(const char* text) {
  constexpr std::uint32_t kLeavingMs = 100;
  const auto phase = static_cast<Phase>(g_core.phase.load(std::memory_order_acquire));
  if (phase != Phase::kDormant && phase != Phase::kDisabled) return kAlreadyAwake;
  Address address;
  if (!parse_address(text, &address)) return kNotUnderstood;
  if (!may_read_time()) return kNoClock;
  g_core.address = address;
  take_address();
  // A worker that has let go a moment ago may still be on its way out.
  const bool gone = hot::worker_park(kLeavingMs);
  hot::worker_allow_resume();
  if (gone) follow_end_calls();
  set_phase(Phase::kDormant);
  wake(wire::kWokeAttach | (g_core.python_linked ? wire::kWokePython : 0));
  const bool failed =
      g_core.phase.load(std::memory_order_acquire) == static_cast<std::uint32_t>(Phase::kDisabled);
  return failed ? kNoThread : kAwake;
}

void wake(std::uint32_t why) {
  if (!g_core.has_address || g_core.left.load(std::memory_order_acquire)) return;
  const int saved = errno;
  const std::uint32_t before = g_core.woke.fetch_or(why, std::memory_order_acq_rel);
  auto dormant = static_cast<std::uint32_t>(Phase::kDormant);
  if (g_core.phase.compare_exchange_strong(dormant, static_cast<std::uint32_t>(Phase::kStarting),
                                           std::memory_order_acq_rel)) {
    g_core.owner_pid.store(getpid(), std::memory_order_release);
    wake::stop_watching();
    // A thread that was stopped for us is not held up; it calls nothing in this moment.
    const bool hurries = (why & wire::kWokeAttach) != 0;
    // Another thread may hold the loader's lock, and wait for this one.
    const bool asks_loader = why != wire::kWokeWork;
    if (hot::worker_parked()
            ? !hot::worker_resume()
            : !hot::worker_start(worker_body, hurries ? kFirstWaitNs : 0, asks_loader))
      set_phase(Phase::kDisabled);
    if (!hurries) hot::worker_wait_for_hand_over();
  } else if ((before & why) != why) {
    hot::wake_worker();  // Hello again, with one more reason
  }
  errno = saved;
}

bool wait_ready(std::uint32_t deadline_ms) {
  const int saved = errno;
  const std::uint64_t deadline = base::mono_ns() + deadline_ms * 1'000'000ULL;
  for (;;) {
    const std::uint32_t phase = g_core.phase.load(std::memory_order_acquire);
    const std::uint64_t now = base::mono_ns();
    if (phase != static_cast<std::uint32_t>(Phase::kStarting) || now >= deadline) {
      errno = saved;
      return phase == static_cast<std::uint32_t>(Phase::kReady);
    }
    const std::uint64_t left = deadline - now;
    const timespec wait{static_cast<time_t>(left / 1'000'000'000u),
                        static_cast<long>(left % 1'000'000'000u)};
    ::syscall(SYS_futex, &g_core.phase, FUTEX_WAIT_PRIVATE, phase, &wait, nullptr, 0);
  }
}

void cuda_initialised() {
  if (!g_core.has_address || g_core.left.load(std::memory_order_acquire)) return;
  cupti::driver_seen();
  wake(wire::kWokeCuda);
  const std::uint32_t phase = g_core.phase.load(std::memory_order_acquire);
  if (!wait_ready(500)) {
    if (phase == static_cast<std::uint32_t>(Phase::kStarting))
      g_core.went_ahead_ns.store(base::mono_ns(), std::memory_order_release);
    return;
  }
  const wire::Stats* stats = hot::g_state.stats;
  if (stats != nullptr)
    apply_cuda(static_cast<wire::AgentState>(stats->state.load(std::memory_order_acquire)));
}

}  // namespace gpuprof::agent
