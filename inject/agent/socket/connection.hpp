// SPDX-License-Identifier: Apache-2.0
//
// The worker's socket to the daemon.
//
// Context:  worker (close also: boundary, in a forked child)
// Owns:     one descriptor: close-on-exec, at the top of the range, identity-checked before use
//           where the table of descriptors is the program's
// Promises: never waits longer than a deadline; never raises SIGPIPE
// Not here: what messages mean (worker.cpp)
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "gpuprof/base/unique_fd.hpp"
#include "gpuprof/wire/messages.hpp"
#include "inject/agent/socket/address.hpp"

namespace gpuprof::agent {

/// A descriptor and what it was when we made it: the program may close everything it does not
/// know and open its own files under the same numbers.
struct CheckedFd {
  int fd = -1;
  std::uint64_t device = 0, inode = 0;

  /// Moves `raw` to the top of the range and remembers it. False: no number is free there.
  bool adopt(base::UniqueFd raw);
  /// Whether it is still what we made.
  bool is_intact() const;
  /// Closes it if it is still ours.
  void close();
};

/// kFull: the peer is not reading at the moment.
enum class SendResult { kSent, kFull, kPeerGone };

enum class ReceiveResult { kPacket, kNothing, kPeerGone, kDescriptorLost };

class Connection {
 public:
  /// Connects, checks that the peer runs under our own uid, or is root.
  bool open(const Address& address);
  /// Takes over a connected socket, whose peer was checked.
  bool adopt(base::UniqueFd socket) { return socket_.adopt(std::move(socket)); }
  /// Takes over the socket of another connection.
  void adopt_from(Connection* other) {
    close();
    std::swap(socket_, other->socket_);
  }
  void close();
  bool connected() const { return socket_.fd >= 0; }

  template <typename M>
  bool send(const M& body, const void* tail, std::size_t tail_bytes) {
    const std::size_t bytes =
        wire::encode_message(body, tail, tail_bytes, packet_out_, sizeof packet_out_);
    return bytes != 0 && send_packet(bytes);
  }

  /// From now on does not wait for a peer that does not read.
  void stop_waiting() { send_deadline_ms_ = 0; }

  /// A whole packet, without waiting.
  SendResult try_send(const std::byte* packet, std::size_t bytes);

  /// One packet if there is one. `received_fd` gets a descriptor that came with it.
  ReceiveResult receive(wire::Packet* packet, base::UniqueFd* received_fd);

  /// Waits for a packet, `timeout_ms` at most.
  void wait(int timeout_ms);

  /// The descriptor is gone with the table it was in.
  void forget_descriptor() { socket_.fd = -1; }
  int fd() const { return socket_.fd; }

  bool intact() const { return socket_.is_intact(); }

 private:
  bool send_packet(std::size_t bytes);

  CheckedFd socket_;
  std::uint32_t send_deadline_ms_ = 500;
  alignas(8) std::byte packet_out_[16384] = {};
  alignas(8) std::byte packet_in_[8192] = {};
};

}  // namespace gpuprof::agent
