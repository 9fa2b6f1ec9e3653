// SPDX-License-Identifier: Apache-2.0
//
// From the words a person types for a place to listen at, to a socket that listens there.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: a bad word, a taken port and an address that is not ours are one sentence each, which
//           begins with the name of the option
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "gpuprof/base/unique_fd.hpp"
#include "support/result.hpp"

namespace gpuprof::support {

struct ListenAddress {
  sockaddr_storage socket_address{};
  socklen_t bytes = 0;
  bool loopback = false;  // only this machine reaches it
  std::string text;       // "127.0.0.1:6009", "[::1]:6009"
};

/// Understands `HOST:PORT`, `[IPv6]:PORT` and `PORT` alone, which is of 127.0.0.1. HOST is a
/// number, `localhost` or a name that the system resolves.
///
/// @param option  What the sentence begins with: "--serve".
Result<ListenAddress> parse_listen_address(const std::string& option, const std::string& word);

/// A TCP socket, close-on-exec, that listens there and shares its port with nobody.
Result<base::UniqueFd> listen_at(const std::string& option, const ListenAddress& address);

}  // namespace gpuprof::support
