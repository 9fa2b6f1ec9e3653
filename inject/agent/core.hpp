// SPDX-License-Identifier: Apache-2.0
//
// State shared by the agent's own files.
//
// Context:  worker, boundary
// Owns:     everything of the agent, in static storage: no constructor, no destructor
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "gpuprof/wire/messages.hpp"
#include "gpuprof/wire/segment.hpp"
#include "inject/agent/socket/address.hpp"
#include "inject/agent/socket/connection.hpp"
#include "inject/agent/socket/control_socket.hpp"
#include "inject/agent/socket/send_queue.hpp"

namespace gpuprof::agent {

/// kDormant: never woken, or detached. kArmed: the worker waits at the control socket. kReady: in a
/// session.
enum class Phase : std::uint32_t {
  kDormant = 0,
  kStarting = 1,
  kReady = 2,
  kDisabled = 3,
  kArmed = 4,
};

/// What the worker does next.
enum class NextAction {
  kContinue,
  kConnect,      // to the daemon the address names, perhaps again
  kServeJoined,  // a daemon is at the other end of the connection
  kWaitArmed,    // wait at the control socket
  kDetach,       // release everything; the thread's memory stays for the next attach
  kPark,         // for a fork
};

/// At our end, waits this long for the daemon to take what it has not taken yet.
inline constexpr int kFinalSendMs = 500;

struct Agent {
  Address address{};
  bool has_address = false;
  bool python_linked = false, fork_hooked = false;
  bool python_warns_of_threads = false;  // linked with Python 3.12 or later
  bool injection_is_ours = false;        // CUDA_INJECTION64_PATH names this library
  std::uint64_t load_ns = 0;
  std::atomic<std::uint32_t> phase{0};           // Phase; a futex word
  std::atomic<std::uint32_t> wake_reasons{0};    // wire::kWake…
  std::atomic<pid_t> owner_pid{0};               // process the worker belongs to
  std::atomic<bool> shut_down{false};            // for good (seccomp_exit.cpp)
  std::atomic<std::uint64_t> thread_exit_ns{0};  // CLOCK_MONOTONIC of the last announcement
  std::atomic<bool> identity_changed{false};     // look at the credentials now
  std::uint32_t reported_wake_reasons = 0;       // those of the last Hello sent
  bool private_fd_table = false;                 // the worker has its own table of descriptors
  bool components_configured = false;  // the segment is mapped and the components are configured
  bool detach_after_session = false;   // release everything when the session ends
  bool detach_reply_pending = false;   // a client at the control socket waits for that
  std::uint64_t join_ns = 0;           // CLOCK_MONOTONIC of the last Join; 0: none
  std::atomic<std::uint64_t> cuda_started_early_ns{
      0};                                   // CUDA began before we were ready; 0: it did not
  std::uint64_t armed_ns = 0;               // CLOCK_MONOTONIC of the worker's first wait for a Join
  std::uint64_t cpu_before_session_ns = 0;  // CPU time of this thread before the session
  std::uint32_t wakeup_at_turn = 0;         // Plan::wake at the begin of this turn
  Connection connection;
  SendQueue send_queue;  // through it
  ControlSocket control_socket;
  Connection control_connection;  // at the control socket
  CheckedFd wakeup_fd;            // a signalfd of hot::kWakeupSignal
  wire::Config config{};
  char step_text[1024] = {};
  // What is in force now (worker only).
  wire::AgentState state = wire::AgentState::kArmed;
  std::uint32_t applied_sequence = 0;
  std::uint32_t throttle = 0;  // wire::kThrottle…
  bool cuda_ready = false;     // InitializeInjection has run, CUPTI may be opened
};

extern Agent g_agent;

/// Sends a message to the daemon, after those that it has not taken yet. Worker.
template <typename M>
void send_message(const M& body, const void* tail = nullptr, std::size_t tail_bytes = 0) {
  g_agent.send_queue.enqueue(g_agent.connection, body, tail, tail_bytes);
}

/// Activates the agent once the process has used some CPU time (inject/activation). Boundary.
void activate_on_cpu_time(pid_t process, void (*hook)());

/// Body of the worker (worker.cpp). Always true: the thread can be continued.
bool worker_body();

/// Compares plan and step counter with what is in force; switches components (apply_plan.cpp).
/// Worker.
void apply_plan();

/// Switches everything off, for good or for another daemon. Worker.
void disable_all();

/// Restarts sampling with fresh triggers, after their descriptors were lost (apply_plan.cpp).
/// Worker.
void restart_sampling();

/// Applies the settings in the config to the components (apply_plan.cpp). Worker.
void configure_components();

/// Releases everything that the components held for a session (apply_plan.cpp). Worker, after
/// disable_all().
void release_components();

/// From now on the program's calls of sigaction and the like go through us, if made by modules that
/// it started with (sigaction_hooks.cpp). Does nothing when called again. Worker.
void hook_signal_calls();
/// They no longer do. Worker.
void unhook_signal_calls();

/// Whether a signal handler may be running on this thread: some signal is blocked. Any context.
bool may_be_in_handler();

/// From now on fork and exit of a program with one thread go through us (single_threaded.cpp).
/// Before the worker thread is created. Boundary.
void hook_fork_exit();
/// They no longer do, unless there is still one thread only: what the C library locks because there
/// was ours, it locks for good. Worker.
void unhook_fork_exit();

/// Tells PyTorch's CPU allocator whether its reports are wanted (apply_plan.cpp). Worker.
void decide_cpu_memory();

/// Switches CUPTI to what the current state wants. Worker or boundary.
void apply_cuda_state(wire::AgentState state);

/// Fills hot::g_outbox (outbox.cpp). Worker.
void install_outbox();

/// Rank, world size and visible devices as facts (facts.cpp). Worker.
void send_environment_facts();

/// Whether recording leaves the program at least half of what limits on memory leave it; reports
/// it if not (address_space.cpp). Worker.
bool memory_limits_allow(std::uint64_t segment_bytes);

/// Takes over the credentials of the program's main thread after it changed its own
/// (credentials.cpp). Worker.
void sync_credentials();

/// Ends the process with the status of its main thread if only threads of ours are left
/// (main_thread.cpp). Worker. @param status  Text of /proc/self/status.
void exit_if_only_own_threads(const char* status);
/// Whether the end of a thread was announced a moment ago (agent.hpp, on_thread_exit): worth a
/// check every kExitCheckMs (main_thread.cpp). Worker.
bool thread_exit_announced();
inline constexpr std::uint32_t kExitCheckMs = 1;

/// Shuts down at the next turn if a seccomp filter was installed since the first check
/// (seccomp_exit.cpp). Worker.
/// @param status  Text of /proc/self/status.
void shut_down_if_filtered(const char* status);

/// Sends Hello with the current reasons (hello.cpp). Worker.
bool send_hello();

/// Connects to the daemon of the address, or takes the one that has joined (session.cpp). Worker.
/// @return kContinue: set up; kPark, or what to do without a session.
NextAction begin_session(NextAction how);
/// After a fork: the same session with a new connection (session.cpp). Worker.
NextAction rejoin_session();
/// Runs turns until the session is over for us (session.cpp). Worker.
NextAction run_session();

/// Waits at the control socket (armed.cpp). Worker.
NextAction wait_armed();
/// Waits `timeout_ms` at most for a client at the control socket, for the connection, if it
/// `listens`, or for a wakeup (armed.cpp). Worker. @param seen  What wakeup_count() returned before
/// checking for work.
void wait_for_wakeup(std::uint32_t seen, int timeout_ms, bool listens);

/// How long to wait, from `begun_ns` on, before a Python that may end within milliseconds is worth
/// any preparation; 0: no longer, or there is something to do (session.cpp). Worker.
std::uint32_t startup_grace_left_ms(std::uint64_t begun_ns);
/// Responds to the client at the control socket, if there is one (control_requests.cpp). Worker.
NextAction serve_control_request();
/// Sends RequestDone to whoever requested detaching (control_requests.cpp). Worker.
void reply_detached();

void set_phase(Phase phase);

}  // namespace gpuprof::agent
