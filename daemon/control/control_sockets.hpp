// SPDX-License-Identifier: Apache-2.0
//
// Processes with the library in them, found by their control sockets (wire/control_socket.hpp).
//
// Context:  cli
// Owns:     nothing
// Promises: only reads /proc and connects; a control socket whose process has gone is noticed and
//           its file removed; works for processes in other mount, pid and network namespaces whose
//           /proc entry can be seen
// Not here: what a session does with them (daemon/session/processes/join_requests)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::control {

/// Where a process answers. `path` is as we see it, or `@NAME`.
struct ControlSocket {
  std::uint32_t pid = 0;
  std::string path;
  std::uint32_t program = 0;  // support::exec_fingerprint() of the one it belongs to; 0: not known
};

/// What a process says of itself at its control socket.
struct TargetStatus {
  ControlSocket control_socket;
  std::string name;   // --name
  std::string state;  // armed, counting, recording
  bool in_session = false;
  bool attached = false;  // the library came by `gpuprof attach`
  bool cuda = false;      // the driver is initialised, as far as the library knows
  bool nvtx = false;
  std::uint32_t reduced = 0;  // wire::kThrottle…: what is left out under --max-overhead
  std::uint64_t daemon_pid = 0;
  std::uint64_t steps = 0, dropped = 0;
  std::uint64_t worker_cpu_ns = 0;  // CPU time of the worker thread, since it began
  std::uint64_t age_ns = 0;         // since the library came to life there
};

/// Every control socket this user may see, sorted by process.
std::vector<ControlSocket> find_control_sockets();

/// The control socket of one process; an empty path if it has none.
ControlSocket control_socket_of(std::uint32_t pid);

/// Whether the process still listens there.
bool is_listening(const ControlSocket& control_socket);

/// Whoever waits for a processor is waited for longer than whoever sleeps or is stopped.
///
/// @param silent  Set: it has not answered, but its process is there. What has ended, gone on as
///                another program, detached, refused or is of another version is not silent.
/// Errors: nobody answers, another version.
support::Result<TargetStatus> request_status(const ControlSocket& control_socket,
                                             bool* silent = nullptr);

/// Ends the session that records the process.
///
/// Errors: the process's own sentence (nothing is recorded there), nobody answers.
support::Result<void> request_stop(const ControlSocket& control_socket);

/// Returns when the process has released everything.
support::Result<void> request_detach(const ControlSocket& control_socket);

}  // namespace gpuprof::control
