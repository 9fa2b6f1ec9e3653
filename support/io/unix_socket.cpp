// SPDX-License-Identifier: Apache-2.0
//
// Connecting to a socket of ours by its name.
//
// Context:  daemon | cli
#include "support/io/unix_socket.hpp"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

namespace gpuprof::support {

base::UniqueFd connect_unix_socket(const std::string& address, int type_flags) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.size() < 2 || address.size() >= sizeof name.sun_path) {
    errno = ENAMETOOLONG;
    return base::UniqueFd();
  }
  std::memcpy(name.sun_path, address.data(), address.size());
  const bool abstract = address[0] == '@';
  if (abstract) name.sun_path[0] = '\0';
  const auto bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() + (abstract ? 0 : 1));
  base::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | type_flags, 0));
  if (socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), bytes) == 0)
    return socket;
  return base::UniqueFd();
}

}  // namespace gpuprof::support
