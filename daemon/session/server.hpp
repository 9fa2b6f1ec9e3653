// SPDX-License-Identifier: Apache-2.0
//
// The daemon's listening socket: who may connect, and which session a peer belongs to.
//
// Context:  daemon (ingest thread)
// Owns:     the listening socket, peers that have not said who they are, the sessions
// Promises: only our own user is served; a peer that sends nonsense or nothing costs one
//           descriptor for ten seconds; without a descriptor left it sleeps, and whom that keeps
//           waiting for long is refused and counted
// Not here: what a session does (session.hpp)
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "daemon/session/session.hpp"

namespace gpuprof::session {

class Server {
 public:
  struct Setup {
    std::string address;     // path or @NAME
    base::UniqueFd control;  // the private client's socket, or none
    std::string host;
  };

  static support::Result<std::unique_ptr<Server>> create(Setup setup);
  ~Server();

  /// Serves until stop() (public), or until the private client's session is over.
  void run();
  /// One turn of the loop, waiting at most `timeout_ms` (tests). False when run() would return.
  bool run_once(int timeout_ms);
  /// Ends all sessions; run() returns when their files are written. From the loop's thread.
  void stop();
  /// Makes a descriptor's readiness call stop() (a signalfd).
  void stop_when_readable(int fd);

  const std::string& address() const { return setup_.address; }

 private:
  struct PendingPeer {
    std::unique_ptr<Connection> connection;
    Credentials who;
    std::uint64_t since_ns;
    bool client = false;  // the private daemon's
    bool done = false;
  };

  explicit Server(Setup setup);
  void accept_all();
  bool accept_one();
  base::UniqueFd next_socket() const;
  void pause_accepting();
  void refuse_waiting();
  bool refuse_next();
  void resume_accepting(std::uint64_t now_ns);
  bool accepts_user(std::uint32_t uid) const;
  void receive_from(PendingPeer& peer);
  void dispatch_first_message(PendingPeer& peer, const wire::Packet& packet, std::uint16_t major);
  void open_session(PendingPeer& peer, const wire::Packet& packet);
  void add_agent(PendingPeer& peer, const wire::Packet& packet);
  Session* session_of(std::uint64_t key);
  int timeout_ms(std::uint64_t now_ns) const;
  void sweep(std::uint64_t now_ns);

  Setup setup_;
  EventLoop loop_;
  base::UniqueFd listener_;
  EventLoop::Watch listening_ = 0;
  base::UniqueFd reserve_fd_;  // to refuse with where there is no other
  std::uint64_t no_descriptor_since_ns_ = 0,
                accept_paused_until_ns_ = 0;  // 0: there are descriptors
  std::list<PendingPeer> pending_peers_;
  std::vector<std::unique_ptr<Session>> sessions_;
  bool private_ = false, private_opened_ = false, stopping_ = false;
  std::uint64_t refused_ = 0;
};

}  // namespace gpuprof::session
