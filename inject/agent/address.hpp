// SPDX-License-Identifier: Apache-2.0
//
// What GPUPROF_SOCKET says.
//
// Context:  boundary
// Owns:     nothing
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>

namespace gpuprof::agent {

struct Address {
  sockaddr_un socket;
  socklen_t socket_bytes;
  std::uint64_t session;
  std::uint32_t command_pid;  // 0: none
};

/// Parses `ADDRESS;session=HEX;pid=N`. No allocation. False: not ours to use.
bool parse_address(const char* text, Address* out);

}  // namespace gpuprof::agent
