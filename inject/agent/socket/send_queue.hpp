// SPDX-License-Identifier: Apache-2.0
//
// The worker's messages to the daemon, in order: sent at once, or kept until the socket takes them.
//
// Context:  worker (clear also: boundary, in a forked child)
// Owns:     space for the messages that wait; its pages are touched only while there are any
// Promises: enqueue() and flush() never wait; nothing overtakes what waits;
//           Counter::kMessagesUnsent is at all times the number of those that wait or are lost
// Not here: handshakes, good-byes and responses at the control socket, which wait until a deadline
//           (connection.hpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuprof/wire/messages.hpp"
#include "inject/agent/socket/connection.hpp"

namespace gpuprof::agent {

class SendQueue {
 public:
  template <typename M>
  void enqueue(Connection& to, const M& body, const void* tail, std::size_t tail_bytes) {
    const std::size_t bytes = wire::encode_message(body, tail, tail_bytes, packet_, sizeof packet_);
    if (bytes != 0) add_packet(to, bytes);
  }
  /// Sends what waits, as far as the socket takes it. False: there is no peer to take it.
  bool flush(Connection& to);
  bool has_pending() const { return head_ != end_; }
  /// The same, waiting `timeout_ms` at most; what still waits then is lost.
  void drain(Connection& to, int timeout_ms);
  /// Another session, or process, begins.
  void clear() { head_ = end_ = waiting_ = lost_ = 0; }

 private:
  static constexpr std::size_t kCapacityBytes = 512 * 1024;

  void add_packet(Connection& to, std::size_t bytes);
  bool keep(std::size_t bytes);
  void publish() const;

  std::size_t head_ = 0, end_ = 0;
  std::uint64_t waiting_ = 0, lost_ = 0;  // messages
  alignas(8) std::byte packet_[16384] = {};
  alignas(8) std::byte capacity_[kCapacityBytes] = {};  // each with its size in front
};

}  // namespace gpuprof::agent
