// SPDX-License-Identifier: Apache-2.0
//
// Running processes that a session is to record: joined at their control sockets.
//
// Context:  daemon (ingest thread)
// Owns:     connections whose other end has not said Hello yet
// Promises: each one asked for becomes a process of the session, or a sentence
// Not here: finding control sockets (daemon/control), what the process is then asked (session.cpp)
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "daemon/session/io/connection.hpp"
#include "gpuprof/wire/control_socket.hpp"

namespace gpuprof::session {

class JoinRequests {
 public:
  using Joined = std::function<void(std::unique_ptr<Connection>, const wire::Hello&,
                                    const wire::Packet&, const Credentials&)>;
  using Failed = std::function<void(std::uint32_t pid, const std::string& message)>;

  JoinRequests(EventLoop& loop, Joined joined, Failed failed);

  /// @param control_socket  Path of its socket, or `@NAME`.
  /// @param program support::exec_fingerprint() of the one that is meant; 0: what runs there now.
  /// @param address What forked children of it are to connect to.
  void begin(std::uint32_t pid, const std::string& control_socket, std::uint32_t flags,
             std::uint32_t program, std::uint64_t session, const std::string& address,
             std::uint64_t now_ns);
  /// Gives up what has not answered. Removes what is done.
  void tick(std::uint64_t now_ns);

  /// No more processes will be named.
  void complete() { complete_ = true; }
  bool is_complete() const { return complete_; }
  bool pending() const { return !waiting_.empty(); }

 private:
  struct PendingJoin {
    std::uint32_t pid, program;
    std::uint64_t since_ns, tried_ns;
    std::string control_socket, address;
    wire::JoinRequest request;
    std::unique_ptr<Connection> connection;
    bool done = false;
    bool again = false;  // at the next tick
  };
  void connect(PendingJoin& one, std::uint64_t now_ns);
  void reconnect_or_fail(PendingJoin& one, std::uint64_t now_ns, const std::string& why);
  void receive_from(PendingJoin& one);
  void fail(PendingJoin& one, const std::string& why);

  EventLoop& loop_;
  Joined joined_;
  Failed failed_;
  std::list<PendingJoin> waiting_;
  bool complete_ = false;
};

}  // namespace gpuprof::session
