// SPDX-License-Identifier: Apache-2.0
//
// One SOCK_SEQPACKET peer: whole messages in and out, never waiting for it.
//
// Context:  daemon (ingest thread)
// Owns:     the socket and what could not be sent yet
// Promises: no call but flush_blocking blocks; a peer that does not read is given up after
//           kMaxQueued messages; a packet that does not parse is reported, never acted on
// Not here: what messages mean (server.cpp, target.cpp, session.cpp)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/session/io/event_loop.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "gpuprof/wire/messages.hpp"
#include "support/result.hpp"

namespace gpuprof::session {

struct Credentials {
  pid_t pid = 0;
  uid_t uid = 0;
};

class Connection {
 public:
  enum class Received { kMessage, kMalformed, kNothing, kClosed };

  Connection(base::UniqueFd socket, EventLoop& loop);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Calls `on_ready` whenever something can be received.
  bool watch(std::function<void()> on_ready);

  /// The next message; `packet` borrows an inner buffer until the next call.
  Received receive(wire::Packet* packet, std::uint16_t* major);

  template <typename M>
  bool send(const M& body, std::string_view tail = {}, int passed_fd = -1) {
    std::vector<std::byte> bytes(sizeof(wire::MessageHeader) + sizeof(M) + tail.size());
    const std::size_t length =
        wire::encode_message(body, tail.data(), tail.size(), bytes.data(), bytes.size());
    return length != 0 && send_bytes(std::move(bytes), passed_fd);
  }

  /// A sentence and good-bye: Refused for agents, Failure for clients.
  void refuse(const std::string& message);
  void fail(const std::string& message);
  /// Waits until everything queued is sent, or the peer has read nothing for `timeout_ms`.
  bool flush_blocking(int timeout_ms);

  Credentials credentials() const;
  bool closed() const { return closed_; }
  void close();

 private:
  static constexpr std::size_t kMaxQueued = 256;
  bool send_bytes(std::vector<std::byte> bytes, int passed_fd);
  bool send_now(const std::vector<std::byte>& bytes, int passed_fd);
  void flush();

  base::UniqueFd socket_;
  EventLoop& loop_;
  EventLoop::Watch watch_ = 0;
  std::vector<std::byte> buffer_;
  std::deque<std::vector<std::byte>> queue_;
  bool closed_ = false;
};

/// A listening socket: a path (mode 0600) or `@NAME` (abstract).
support::Result<base::UniqueFd> listen_at(const std::string& address);

}  // namespace gpuprof::session
