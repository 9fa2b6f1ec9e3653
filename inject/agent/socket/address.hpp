// SPDX-License-Identifier: Apache-2.0
//
// Parses GPUPROF_SOCKET, the daemon's address.
//
// Context:  boundary
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>

namespace gpuprof::agent {

struct Address {
  sockaddr_un socket;
  socklen_t socket_bytes;  // 0: armed, there is no daemon yet
  std::uint64_t session;
  std::uint32_t command_pid;      // 0: none
  std::uint64_t nonce;            // of the control socket; 0: any
  std::uint32_t idle_timeout_ms;  // detaches if no client has connected by then; 0: waits for ever
  char name[64];                  // --name
  bool syscalls_restricted;       // mark_syscalls_restricted()
};

/// Parses `ADDRESS;session=HEX;pid=N;name=NAME;nonce=HEX;patience=MS`, where ADDRESS may be the
/// word `armed`. No allocation. False: not for us to use.
bool parse_address(const char* text, Address* out);

/// Tells the programs that this one executes in its place, or its forked children, that the system
/// calls they may make are restricted: changes one letter of our own variable in place.
/// @param environment  As environ; may be null.
void mark_syscalls_restricted(char** environment);

}  // namespace gpuprof::agent
