// SPDX-License-Identifier: Apache-2.0
//
// The control socket of a process: where it is found, and the requests it accepts.
//
// Context:  any (plain structs and names)
// Promises: a control socket is a SOCK_SEQPACKET socket named `PID-NONCE.door` in a folder of mode
//           0700 that belongs to the process's user, or an abstract one named
//           `@gpuprof-door-UID-PID-NONCE` where no folder can be written. PID is the process id as
//           the process itself sees it. One request per connection
// Not here: opening it (inject/agent/socket/control_socket), finding it (daemon/control)
#pragma once

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::wire {

/// Folders, tried in this order; between the two parts stands the effective user id, as the process
/// sees it.
struct ControlSocketFolder {
  const char* prefix;
  const char* suffix;
};
inline constexpr ControlSocketFolder kControlSocketFolders[] = {
    {"/run/user/", "/gpuprof"}, {"/tmp/gpuprof-", ""}, {"/dev/shm/gpuprof-", ""}};
/// Within the folder: process id, then a random number.
inline constexpr char kControlSocketName[] = "%u-%016llx.door";
inline constexpr char kControlSocketSuffix[] = ".door";
/// Suffix of the name until the process listens there: sockets on which nobody listens are removed.
inline constexpr char kNotListeningSuffix[] = ".new";
/// user id, process id, random number; the first byte is a NUL for the kernel.
inline constexpr char kAbstractSocketName[] = "@gpuprof-door-%u-%u-%016llx";
inline constexpr char kAbstractSocketPrefix[] = "@gpuprof-door-";

/// Answered with StatusReply.
struct StatusRequest {
  static constexpr MessageType kType = MessageType::kStatusRequest;
  std::uint64_t reserved;
};

/// Detaches when the session ends, however it ends.
inline constexpr std::uint32_t kJoinThenDetach = 1;
/// For the daemon: the user named this process, so that it gets a file whatever it does.
inline constexpr std::uint32_t kJoinNamed = 2;

/// The connection becomes the agent's connection to a daemon: answered with Hello, or Refused with
/// a sentence. Tail: value of GPUPROF_SOCKET for forked children.
struct JoinRequest {
  static constexpr MessageType kType = MessageType::kJoinRequest;
  std::uint64_t session;
  std::uint32_t flags;  // kJoin…
  std::uint32_t text_bytes;
};

/// Ends the session that records the process. Answered with RequestDone, or Refused with a
/// sentence.
struct StopRequest {
  static constexpr MessageType kType = MessageType::kStopRequest;
  std::uint64_t reserved;
};

/// Switches everything off and removes everything but the library's own pages. Answered with
/// RequestDone when that is done.
struct DetachRequest {
  static constexpr MessageType kType = MessageType::kDetachRequest;
  std::uint64_t reserved;
};

/// Tail: `key=value` lines.
struct StatusReply {
  static constexpr MessageType kType = MessageType::kStatusReply;
  std::uint32_t state;  // AgentState
  std::uint32_t woke;   // kWake…
  std::uint32_t in_session;
  std::uint32_t text_bytes;
  std::uint64_t daemon_pid;  // 0: no session
  std::uint64_t steps;
  std::uint64_t dropped;        // records of the session so far
  std::uint64_t worker_cpu_ns;  // of the worker thread, since it began
  std::uint64_t armed_ns;       // CLOCK_MONOTONIC when the agent was armed, else when it was loaded
};

struct RequestDone {
  static constexpr MessageType kType = MessageType::kRequestDone;
  std::uint64_t ts_ns;
};

}  // namespace gpuprof::wire
