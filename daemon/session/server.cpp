// SPDX-License-Identifier: Apache-2.0
//
// The daemon's listening socket.
//
// Context:  daemon (ingest thread)
#include "daemon/session/server.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "daemon/messages/session_server.hpp"
#include "gpuprof/base/clock.hpp"

namespace gpuprof::session {
namespace {

constexpr std::size_t kMaxPendingPeers = 1024;
constexpr std::uint64_t kHelloTimeoutNs = 10'000'000'000;
/// Greetings taken before others are looked at again.
constexpr int kMaxAtOnce = 64;
/// Between two looks whether there is a descriptor, and how long the library has to wait for one:
/// it gives up after a few seconds.
constexpr std::uint64_t kAcceptPauseNs = 20'000'000, kDescriptorTimeoutNs = 1'000'000'000;

base::UniqueFd spare_descriptor() {
  return base::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool is_without_descriptors(int failure) {
  return failure == EMFILE || failure == ENFILE || failure == ENOMEM || failure == ENOBUFS;
}

std::uint64_t random_key() {
  std::random_device device;
  std::uint64_t key = 0;
  while (key == 0) key = (std::uint64_t{device()} << 32) | device();
  return key;
}

}  // namespace

support::Result<std::unique_ptr<Server>> Server::create(Setup setup) {
  std::unique_ptr<Server> server(new Server(std::move(setup)));
  GPUPROF_TRY(listener, listen_at(server->setup_.address));
  server->listener_ = std::move(listener);
  server->listening_ = server->loop_.watch(server->listener_.get(), EPOLLIN,
                                           [raw = server.get()](auto) { raw->accept_all(); });
  server->reserve_fd_ = spare_descriptor();
  if (server->private_) {
    PendingPeer& client = server->pending_peers_.emplace_back();
    client.connection =
        std::make_unique<Connection>(std::move(server->setup_.control), server->loop_);
    client.client = true;
    client.since_ns = base::mono_ns();
    client.connection->watch([raw = server.get(), &client] { raw->receive_from(client); });
  }
  return server;
}

Server::Server(Setup setup)
    : setup_(std::move(setup)), private_(static_cast<bool>(setup_.control)) {}

Server::~Server() {
  if (!setup_.address.empty() && setup_.address[0] != '@' && listener_)
    ::unlink(setup_.address.c_str());
}

// Forked children of a process that root records.
bool Server::accepts_user(std::uint32_t uid) const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [uid](const auto& session) { return session->serves(uid); });
}

void Server::accept_all() {
  for (int i = 0; i < kMaxAtOnce; ++i)
    if (!accept_one()) return;
}

base::UniqueFd Server::next_socket() const {
  return base::UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool Server::accept_one() {
  base::UniqueFd socket = next_socket();
  if (!socket && is_without_descriptors(errno)) pause_accepting();
  if (!socket) return false;
  no_descriptor_since_ns_ = 0;
  auto connection = std::make_unique<Connection>(std::move(socket), loop_);
  const Credentials who = connection->credentials();
  if (who.uid != ::getuid() && !accepts_user(who.uid)) {
    connection->refuse(messages::session_server::kOtherUser);
    ++refused_;
    for (const auto& session : sessions_) session->peer_of_other_user(who.uid);
    return true;
  }
  if (pending_peers_.size() >= kMaxPendingPeers) return true;
  PendingPeer& peer = pending_peers_.emplace_back();
  peer.connection = std::move(connection);
  peer.who = who;
  peer.since_ns = base::mono_ns();
  peer.connection->watch([this, &peer] { receive_from(peer); });
  return true;
}

// The socket stays readable: watched, it would never let the loop sleep. Processes that end give
// theirs back.
void Server::pause_accepting() {
  const std::uint64_t now_ns = base::mono_ns();
  if (no_descriptor_since_ns_ == 0) {
    no_descriptor_since_ns_ = now_ns;
    spdlog::warn("no file descriptor is left (ulimit -n): new connections wait");
  }
  if (now_ns - no_descriptor_since_ns_ >= kDescriptorTimeoutNs) refuse_waiting();
  accept_paused_until_ns_ = now_ns + kAcceptPauseNs;
  loop_.change(listening_, 0);
}

void Server::refuse_waiting() {
  bool waits = true;
  for (int i = 0; waits && i < kMaxAtOnce; ++i) {
    reserve_fd_.reset();
    waits = refuse_next();
    reserve_fd_ = spare_descriptor();
  }
}

bool Server::refuse_next() {
  base::UniqueFd socket = next_socket();
  if (!socket) return false;
  Connection connection(std::move(socket), loop_);
  wire::Packet hello;
  std::uint16_t major = 0;
  connection.receive(&hello, &major);  // unread, it would take the place of our answer
  connection.refuse(messages::session_server::kNoDescriptorLeft);
  ++refused_;
  for (const auto& session : sessions_) session->peer_without_descriptor(connection.credentials());
  return true;
}

void Server::resume_accepting(std::uint64_t now_ns) {
  if (accept_paused_until_ns_ == 0 || now_ns < accept_paused_until_ns_) return;
  accept_paused_until_ns_ = 0;
  loop_.change(listening_, EPOLLIN);
}

// The callback that runs this belongs to the stranger: it is only marked here, swept later.
void Server::receive_from(PendingPeer& peer) {
  wire::Packet packet;
  std::uint16_t major = 0;
  if (peer.done) return;
  switch (peer.connection->receive(&packet, &major)) {
    case Connection::Received::kNothing:
      return;
    case Connection::Received::kClosed:
      peer.done = true;
      return;
    case Connection::Received::kMalformed:
      peer.connection->refuse(messages::session_server::kNotAMessage);
      peer.done = true;
      return;
    case Connection::Received::kMessage:
      break;
  }
  dispatch_first_message(peer, packet, major);
  peer.done = true;
}

void Server::dispatch_first_message(PendingPeer& peer, const wire::Packet& packet,
                                    std::uint16_t major) {
  if (major != wire::kWireMajor) {
    peer.connection->refuse(
        fmt::format(messages::session_server::kWireVersionsDiffer, major, wire::kWireMajor));
    ++refused_;
    for (const auto& session : sessions_) session->peer_refused();
    return;
  }
  switch (packet.type) {
    case wire::MessageType::kHello:
      return add_agent(peer, packet);
    case wire::MessageType::kOpenSession:
      return open_session(peer, packet);
    default:
      peer.connection->refuse(messages::session_server::kWrongFirstMessage);
  }
}

Session* Server::session_of(std::uint64_t key) {
  for (const auto& session : sessions_)
    if (session->key() == key && !session->finished()) return session.get();
  return nullptr;
}

void Server::add_agent(PendingPeer& peer, const wire::Packet& packet) {
  wire::Hello hello;
  if (!packet.as(&hello)) return peer.connection->refuse(messages::session_server::kHelloTooShort);
  if (hello.major != wire::kWireMajor)
    return peer.connection->refuse(messages::session_server::kVersionsDiffer);
  Session* session = session_of(hello.session);
  if (session == nullptr) {
    ++refused_;
    return peer.connection->refuse(messages::session_server::kNoSuchSession);
  }
  session->add_agent(std::move(peer.connection), hello, packet, peer.who);
}

void Server::open_session(PendingPeer& peer, const wire::Packet& packet) {
  wire::OpenSession open;
  const bool is_client = !private_ || peer.client;
  if (!packet.as(&open) || !is_client || stopping_)
    return peer.connection->fail(messages::session_server::kSessionNotOpened);
  private_opened_ = private_;
  auto options = recording::from_text(
      std::string(packet.tail, std::min<std::size_t>(open.text_bytes, packet.tail_bytes)));
  if (!options) return peer.connection->fail(options.error().message);
  Session::Setup setup{options.take(), random_key(), setup_.host};
  auto session = Session::open(std::move(setup), loop_, &peer.connection);
  if (!session) return peer.connection->fail(session.error().message);
  sessions_.push_back(session.take());
  sessions_.back()->send_ready(setup_.address);
}

int Server::timeout_ms(std::uint64_t now_ns) const {
  std::uint64_t next = pending_peers_.empty() ? wire::kNever : now_ns + 1'000'000'000;
  if (accept_paused_until_ns_ != 0) next = std::min(next, accept_paused_until_ns_);
  for (const auto& session : sessions_) next = std::min(next, session->next_deadline());
  if (next == wire::kNever) return -1;
  return next <= now_ns ? 0
                        : static_cast<int>(std::min<std::uint64_t>(
                              (next - now_ns + 999'999) / 1'000'000, 60'000));
}

void Server::sweep(std::uint64_t now_ns) {
  pending_peers_.remove_if([&](const PendingPeer& peer) {
    return peer.done || (!peer.client && now_ns - peer.since_ns > kHelloTimeoutNs);
  });
  std::erase_if(sessions_, [](const auto& session) { return session->finished(); });
}

bool Server::run_once(int most_ms) {
  const int wanted = timeout_ms(base::mono_ns());
  loop_.run_once(most_ms < 0 ? wanted : wanted < 0 ? most_ms : std::min(wanted, most_ms));
  const std::uint64_t now_ns = base::mono_ns();
  for (const auto& session : sessions_) session->tick(now_ns);
  sweep(now_ns);
  resume_accepting(now_ns);
  if (!sessions_.empty()) return true;
  const bool waiting_for_client = private_ && !private_opened_ &&
                                  std::any_of(pending_peers_.begin(), pending_peers_.end(),
                                              [](const PendingPeer& peer) { return peer.client; });
  return private_ ? waiting_for_client && !stopping_ : !stopping_;
}

void Server::run() {
  while (run_once(-1)) {
  }
}

void Server::stop() {
  stopping_ = true;
  for (const auto& session : sessions_) session->end_with_daemon();
}

void Server::stop_when_readable(int fd) {
  loop_.watch(fd, EPOLLIN, [this](auto) { stop(); });
}

}  // namespace gpuprof::session
