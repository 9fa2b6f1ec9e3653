// SPDX-License-Identifier: Apache-2.0
//
// Activation of the agent, from whichever entry point it comes.
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

constinit Agent g_agent;

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
  if (phase != Phase::kReady && phase != Phase::kStarting) torch::decide_cpu_memory(false);
  g_agent.phase.store(static_cast<std::uint32_t>(phase), std::memory_order_release);
  ::syscall(SYS_futex, &g_agent.phase, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

namespace {

// Longer than a stopped thread needs to be released.
constexpr long kWorkerStartDelayNs = 5'000'000;

// PR_SET_TSC: the counter is refused by SIGSEGV, and with it the C library's clocks.
bool may_read_tsc() {
  int how = 0;
  return prctl(PR_GET_TSC, &how, 0, 0, 0) != 0 || how != PR_TSC_SIGSEGV;
}

void load_address() {
  g_agent.has_address = true;
  g_agent.load_ns = base::mono_ns();
  g_agent.injection_is_ours = injection_names_us();
  if (!g_agent.fork_hooked)
    g_agent.fork_hooked = pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
}

}  // namespace

void load(bool python_linked, unsigned long python_version, bool sanitized) {
  g_agent.python_linked = python_linked;
  g_agent.python_warns_of_threads = python_version >= 0x030c0000;
  if (!parse_address(getenv(wire::kSocketVariable), &g_agent.address)) return;
  load_address();
  std::uint32_t why = 0;
  const pid_t process = getpid();
  if (g_agent.address.command_pid == static_cast<std::uint32_t>(process)) why |= wire::kWakeCommand;
  if (python_linked) why |= wire::kWakePython;
  // A forked child knows from its parent; there the loader's lock may be nobody's.
  sample::detect_listed_alt_stack_needs();
  if (why != 0) {
    sample::ensure_alt_stack();
    return wake(why);
  }
  // What needs no library may run its threads without the C library's block.
  if (g_agent.address.syscalls_restricted || sanitized || modules::program_has_no_needed()) return;
  hot::find_glibc_thread_count();
  activate_on_cpu_time(process, [] { agent::wake(wire::kWakeCpuTime); });
}

void activate_on_cpu_time(pid_t process, void (*hook)()) {
  sample::ensure_alt_stack();
  wake::start_cpu_watch(hook, process);
}

int attach(const char* text) {
  constexpr std::uint32_t kLeavingMs = 100;
  const auto phase = static_cast<Phase>(g_agent.phase.load(std::memory_order_acquire));
  if (phase != Phase::kDormant && phase != Phase::kDisabled) return kAttachRunning;
  Address address;
  if (!parse_address(text, &address)) return kAttachBadText;
  if (!may_read_tsc()) return kAttachNoTsc;
  g_agent.address = address;
  load_address();
  // A worker that has detached a moment ago may still be on its way out.
  const bool gone = hot::worker_park(kLeavingMs);
  hot::worker_allow_resume();
  if (gone) hook_fork_exit();
  set_phase(Phase::kDormant);
  wake(wire::kWakeAttach | (g_agent.python_linked ? wire::kWakePython : 0));
  const bool failed =
      g_agent.phase.load(std::memory_order_acquire) == static_cast<std::uint32_t>(Phase::kDisabled);
  return failed ? kAttachNoThread : kAttachStarted;
}

void wake(std::uint32_t why) {
  if (!g_agent.has_address || g_agent.shut_down.load(std::memory_order_acquire)) return;
  const int saved = errno;
  const std::uint32_t before = g_agent.wake_reasons.fetch_or(why, std::memory_order_acq_rel);
  auto dormant = static_cast<std::uint32_t>(Phase::kDormant);
  if (g_agent.phase.compare_exchange_strong(dormant, static_cast<std::uint32_t>(Phase::kStarting),
                                            std::memory_order_acq_rel)) {
    g_agent.owner_pid.store(getpid(), std::memory_order_release);
    wake::ignore_cpu_watch();
    // A thread that was stopped for us is not held up; it calls nothing in this moment.
    const bool hurries = (why & wire::kWakeAttach) != 0;
    // Another thread may hold the loader's lock, and wait for this one.
    const bool asks_loader = why != wire::kWakeCpuTime;
    if (hot::worker_parked()
            ? !hot::worker_resume()
            : !hot::worker_start(worker_body, hurries ? kWorkerStartDelayNs : 0, asks_loader))
      set_phase(Phase::kDisabled);
    if (!hurries) hot::worker_wait_for_clone();
  } else if ((before & why) != why) {
    hot::wake_worker();  // Hello again, with one more reason
  }
  errno = saved;
}

bool wait_ready(std::uint32_t deadline_ms) {
  const int saved = errno;
  const std::uint64_t deadline = base::mono_ns() + deadline_ms * 1'000'000ULL;
  for (;;) {
    const std::uint32_t phase = g_agent.phase.load(std::memory_order_acquire);
    const std::uint64_t now = base::mono_ns();
    if (phase != static_cast<std::uint32_t>(Phase::kStarting) || now >= deadline) {
      errno = saved;
      return phase == static_cast<std::uint32_t>(Phase::kReady);
    }
    const std::uint64_t left = deadline - now;
    const timespec wait{static_cast<time_t>(left / 1'000'000'000u),
                        static_cast<long>(left % 1'000'000'000u)};
    ::syscall(SYS_futex, &g_agent.phase, FUTEX_WAIT_PRIVATE, phase, &wait, nullptr, 0);
  }
}

void on_cuda_initialised() {
  if (!g_agent.has_address || g_agent.shut_down.load(std::memory_order_acquire)) return;
  cupti::on_driver_initialised();
  wake(wire::kWakeCuda);
  const std::uint32_t phase = g_agent.phase.load(std::memory_order_acquire);
  if (!wait_ready(500)) {
    if (phase == static_cast<std::uint32_t>(Phase::kStarting))
      g_agent.cuda_started_early_ns.store(base::mono_ns(), std::memory_order_release);
    return;
  }
  const wire::Stats* stats = hot::g_state.stats;
  if (stats != nullptr)
    apply_cuda_state(static_cast<wire::AgentState>(stats->state.load(std::memory_order_acquire)));
}

}  // namespace gpuprof::agent
