// SPDX-License-Identifier: Apache-2.0
//
// The listening socket at which this process is found (wire/control_socket.hpp).
//
// Context:  worker (unlink_control_socket: boundary)
// Owns:     the socket and its file
// Promises: only the process's own user and root are let in; a folder that somebody else prepared
//           is not used
// Not here: what is requested there (control_requests.cpp)
#pragma once

#include <cstdint>

#include "gpuprof/wire/control_socket.hpp"
#include "inject/agent/socket/connection.hpp"

namespace gpuprof::agent {

class ControlSocket {
 public:
  /// Makes the socket, at the first place where that is possible. The number in its name is
  /// `nonce`, or if that is 0 a random one, the same each time: whoever knows the name finds a
  /// control socket that was made anew. False: it was possible nowhere.
  bool open(std::uint64_t nonce);
  bool is_open() const { return socket_.fd >= 0; }
  int fd() const { return socket_.fd; }
  /// Its file is gone (a folder of the session was cleared), or its descriptor (the program closed
  /// all that it did not know): close() and open() again.
  bool lost() const;
  /// Accepts a client at the control socket, if there is one. Never waits.
  base::UniqueFd accept(std::uint32_t* peer_pid);
  /// Closes it and removes its file.
  void close();
  /// The descriptor is gone with the table it was in: nobody listens there any more.
  void forget_descriptor();
  /// In a forked child: socket and file are the parent's. Boundary.
  void abandon_to_parent(bool with_descriptor);

 private:
  bool open_in(const wire::ControlSocketFolder& place);
  bool open_abstract();
  bool bind_and_listen(const sockaddr_un& name, socklen_t bytes);

  CheckedFd socket_;
  std::uint64_t nonce_ = 0;
  char path_[108] = {};  // empty: abstract
};

/// Removes the file of an open control socket. Boundary, at the end of the process.
void unlink_control_socket();

}  // namespace gpuprof::agent
