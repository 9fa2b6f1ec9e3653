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

/// kDormant: never woken, or detached. kArmed: the worker waits at the door. kReady: in a session.
enum class Phase : std::uint32_t {
  kDormant = 0,
  kStarting = 1,
  kReady = 2,
  kDisabled = 3,
  kArmed = 4,
};

/// What the worker does next.
enum class Next {
  kGoOn,
  kConnect,   // to the daemon the address names, perhaps again
  kJoined,    // a daemon is at the other end of the connection
  kArmed,     // wait at the door
  kDetached,  // let go of everything; the thread's memory stays for the next attach
  kPark,      // for a fork
};

/// What the daemon has not taken by our end is waited for so long.
inline constexpr int kLastWordsMs = 500;

struct Core {
  Address address{};
  bool has_address = false;
  bool python_linked = false, fork_hooked = false;
  bool python_counts_threads = false;  // linked with Python 3.12 or later
  bool injection_is_ours = false;      // CUDA_INJECTION64_PATH names this library
  std::uint64_t load_ns = 0;
  std::atomic<std::uint32_t> phase{0};           // Phase; a futex word
  std::atomic<std::uint32_t> woke{0};            // wire::kWoke…
  std::atomic<pid_t> owner_pid{0};               // process the worker belongs to
  std::atomic<bool> left{false};                 // for good (seccomp_exit.cpp)
  std::atomic<std::uint64_t> thread_ends_ns{0};  // CLOCK_MONOTONIC of the last announcement
  std::atomic<bool> identity_changed{false};     // look at the credentials now
  std::uint32_t told_woke = 0;                   // what the last Hello said
  bool own_files = false;                        // the worker has a table of descriptors of its own
  bool set_up = false;           // the segment is mapped and the rooms are configured
  bool detach_after = false;     // let go of everything when the session ends
  bool detach_answered = false;  // somebody at the door waits for that
  std::uint64_t join_ns = 0;     // CLOCK_MONOTONIC of the last Join; 0: none
  std::atomic<std::uint64_t> went_ahead_ns{0};  // CUDA began before we were ready; 0: it did not
  std::uint64_t armed_ns = 0;     // … when the worker began to wait for the first one
  std::uint64_t cpu_base_ns = 0;  // CPU time of this thread that is none of the session's
  std::uint32_t seen_wake = 0;    // Plan::wake at the begin of this turn
  Connection connection;
  Mail mail;  // by it
  Door door;
  Connection caller;  // at the door
  OwnFd bell;         // a signalfd of hot::kBellSignal
  wire::Config config{};
  char step_text[1024] = {};
  // What is in force now (worker only).
  wire::AgentState state = wire::AgentState::kArmed;
  std::uint32_t applied_sequence = 0;
  std::uint32_t less = 0;   // wire::kLess…
  bool cuda_ready = false;  // InitializeInjection has run, CUPTI may be opened
};

extern Core g_core;

/// Tells the daemon, behind what it has not taken yet. Worker.
template <typename M>
void tell(const M& body, const void* tail = nullptr, std::size_t tail_bytes = 0) {
  g_core.mail.add(g_core.connection, body, tail, tail_bytes);
}

/// The process wakes when it has worked (inject/activation). Boundary.
void watch_work(pid_t process, void (*hook)());

/// Body of the worker (worker.cpp). Always true: the thread can be continued.
bool worker_body();

/// Compares plan and step counter with what is in force; switches rooms (apply_plan.cpp). Worker.
void apply_plan();

/// Everything off, for good or for another daemon. Worker.
void all_off();

/// Sampling again with fresh triggers, after their descriptors were lost (apply_plan.cpp). Worker.
void restart_sampling();

/// Settings of the rooms from the config (apply_plan.cpp). Worker.
void configure_rooms();

/// Nothing of what the rooms had for a session is left (apply_plan.cpp). Worker, after all_off().
void release_rooms();

/// From now on the program's calls of sigaction and its kind come by us, those of the modules that
/// it started with (sigaction_hooks.cpp). Does nothing a second time. Worker.
void follow_signal_calls();
/// They do not any more. Worker.
void restore_signal_calls();

/// Whether a handler of a signal may be running here: one is blocked. Any context.
bool may_be_in_handler();

/// From now on fork and exit of a program with one thread come by us (single_threaded.cpp). Before
/// our thread is made. Boundary.
void follow_end_calls();
/// They do not any more, unless there is one thread still: what the C library locks because there
/// was ours it locks for good. Worker.
void restore_end_calls();

/// Tells PyTorch's CPU allocator whether its reports are wanted (apply_plan.cpp). Worker.
void settle_memory();

/// Switches CUPTI to what the current state wants. Worker or boundary.
void apply_cuda(wire::AgentState state);

/// Fills hot::g_outbox (outbox.cpp). Worker.
void open_outbox();

/// Rank, world size and visible devices as facts (facts.cpp). Worker.
void send_environment_facts();

/// Whether recording leaves the program at least half of what limits on memory leave it; says
/// so where not (address_space.cpp). Worker.
bool address_space_has_room(std::uint64_t segment_bytes);

/// Takes over the credentials of the program's main thread after it changed its own
/// (credentials.cpp). Worker.
void follow_credentials();

/// Ends the process with the status of its main thread if only threads of ours are left
/// (main_thread.cpp). Worker. @param status  Text of /proc/self/status.
void end_if_left_alone(const char* status);
/// Whether one has been announced (agent.hpp, thread_ends) a moment ago: worth a look each
/// kEndLookMs (main_thread.cpp). Worker.
bool a_thread_ends();
inline constexpr std::uint32_t kEndLookMs = 1;

/// Leaves at the next turn if a seccomp filter has come since the first look (seccomp_exit.cpp).
/// Worker.
/// @param status  Text of /proc/self/status.
void leave_if_filtered(const char* status);

/// Sends Hello with the present reasons (hello.cpp). Worker.
bool say_hello();

/// Connects to the daemon of the address, or takes the one that has joined (session.cpp). Worker.
/// @return kGoOn: set up; kPark, or what to do without a session.
Next begin_session(Next how);
/// After a fork: the same session with a new connection (session.cpp). Worker.
Next come_back();
/// Turns until the session is over for us (session.cpp). Worker.
Next live_in_session();

/// Waits at the door (armed.cpp). Worker.
Next wait_at_door();
/// Waits for `timeout_ms` at most: for somebody at the door, the connection, if it `listens`, or a
/// ring (armed.cpp). Worker. @param seen  What bell_seen() said before looking for news.
void wait_for_ring(std::uint32_t seen, int timeout_ms, bool listens);

/// How long to wait, from `begun_ns` on, before a Python that may end within milliseconds is worth
/// any preparation; 0: no longer, or there is something to do (session.cpp). Worker.
std::uint32_t short_life_left_ms(std::uint64_t begun_ns);
/// Answers who is at the door, if anybody (control_requests.cpp). Worker.
Next answer_door();
/// Whoever asked for it hears that we have let go (control_requests.cpp). Worker.
void say_detached();

void set_phase(Phase phase);

}  // namespace gpuprof::agent
