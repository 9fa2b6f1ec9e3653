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

#include "gpuprof/wire/control.hpp"
#include "gpuprof/wire/segment.hpp"
#include "inject/agent/address.hpp"
#include "inject/agent/connection.hpp"

namespace gpuprof::agent {

enum class Phase : std::uint32_t { kDormant = 0, kStarting = 1, kReady = 2, kDisabled = 3 };

struct Core {
  Address address{};
  bool has_address = false;
  bool python_counts_threads = false;  // linked with Python 3.12 or later
  bool injection_is_ours = false;      // CUDA_INJECTION64_PATH names this library
  std::uint64_t load_ns = 0;
  std::atomic<std::uint32_t> phase{0};  // Phase; a futex word
  std::atomic<std::uint32_t> woke{0};   // wire::kWoke…
  std::atomic<pid_t> owner_pid{0};      // process the worker belongs to
  std::uint32_t told_woke = 0;          // what the last Hello said
  bool own_files = false;               // the worker has a table of descriptors of its own
  bool set_up = false;                  // the segment is mapped and the rooms are configured
  std::uint32_t seen_wake = 0;          // Plan::wake at the begin of this turn
  Connection connection;
  wire::Config config{};
  char step_text[1024] = {};
  // What is in force now (worker only).
  wire::AgentState state = wire::AgentState::kArmed;
  std::uint32_t applied_sequence = 0;
  bool cuda_ready = false;  // InitializeInjection has run, CUPTI may be opened
};

extern Core g_core;

/// Body of the worker (worker.cpp). True: park. False: the agent is done.
bool worker_body();

/// Compares plan and step counter with what is in force; switches rooms (states.cpp). Worker.
void apply_plan();

/// Everything off, for good or for another daemon. Worker.
void all_off();

/// Sampling again with fresh triggers, after their descriptors were lost (states.cpp). Worker.
void restart_sampling();

/// Settings of the rooms from the config (states.cpp). Worker.
void configure_rooms();

/// Tells PyTorch's CPU allocator whether its reports are wanted (states.cpp). Worker.
void settle_memory();

/// Switches CUPTI to what the current state wants. Worker or boundary.
void apply_cuda(wire::AgentState state);

/// Fills hot::g_outbox (outbox.cpp). Worker.
void open_outbox();

/// Rank, world size and visible devices as facts (facts.cpp). Worker.
void send_environment_facts();

/// Takes over the credentials of the program's main thread after it changed its own (identity.cpp).
/// Worker.
void follow_credentials();

/// Sends Hello with the present reasons. Worker.
bool say_hello();

void set_phase(Phase phase);

}  // namespace gpuprof::agent
