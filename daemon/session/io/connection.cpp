// SPDX-License-Identifier: Apache-2.0
//
// Sends and receives packets on one socket.
//
// Context:  daemon (ingest thread)
#include "daemon/session/io/connection.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "daemon/messages/session_server.hpp"

namespace gpuprof::session {

Connection::Connection(base::UniqueFd socket, EventLoop& loop)
    : socket_(std::move(socket)), loop_(loop), buffer_(wire::kMaxPacketBytes) {}

Connection::~Connection() { close(); }

bool Connection::watch(std::function<void()> on_ready) {
  if (closed_) return false;
  loop_.unwatch(watch_);
  watch_ = loop_.watch(socket_.get(), EPOLLIN | EPOLLRDHUP,
                       [this, ready = std::move(on_ready)](std::uint32_t events) {
                         if ((events & EPOLLOUT) != 0) flush();
                         if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) ready();
                       });
  return watch_ != 0;
}

void Connection::close() {
  closed_ = true;
  loop_.unwatch(watch_);
  watch_ = 0;
  socket_.reset();
  queue_.clear();
}

// Descriptors that a peer passes along are refused by giving recvmsg no room for them.
Connection::Received Connection::receive(wire::Packet* packet, std::uint16_t* major) {
  if (closed_) return Received::kClosed;
  iovec part{buffer_.data(), buffer_.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const ssize_t bytes = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR ? Received::kNothing : Received::kClosed;
  if (bytes == 0) return Received::kClosed;
  if ((message.msg_flags & MSG_TRUNC) != 0 ||
      !wire::parse_packet(buffer_.data(), static_cast<std::size_t>(bytes), packet, major))
    return Received::kMalformed;
  return Received::kMessage;
}

bool Connection::send_now(const std::vector<std::byte>& bytes, int passed_fd) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  if (passed_fd >= 0) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr* control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(control), &passed_fd, sizeof passed_fd);
  }
  return ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

bool Connection::send_bytes(std::vector<std::byte> bytes, int passed_fd) {
  if (closed_) return false;
  if (queue_.empty() && send_now(bytes, passed_fd)) return true;
  if (passed_fd >= 0 || (queue_.empty() && errno != EAGAIN && errno != ENOBUFS)) return false;
  if (queue_.size() >= kMaxQueued) return false;
  queue_.push_back(std::move(bytes));
  loop_.change(watch_, EPOLLIN | EPOLLRDHUP | EPOLLOUT);
  return true;
}

void Connection::flush() {
  while (!queue_.empty()) {
    if (!send_now(queue_.front(), -1)) {
      if (errno == EAGAIN || errno == ENOBUFS) return;
      queue_.clear();  // the peer is gone; receive() will say so
      break;
    }
    queue_.pop_front();
  }
  loop_.change(watch_, EPOLLIN | EPOLLRDHUP);
}

bool Connection::flush_blocking(int timeout_ms) {
  while (!queue_.empty()) {
    pollfd one{socket_.get(), POLLOUT, 0};
    if (::poll(&one, 1, timeout_ms) != 1 || (one.revents & POLLOUT) == 0) return false;
    flush();
  }
  return true;
}

void Connection::refuse(const std::string& message) {
  send(wire::Refused{0, static_cast<std::uint32_t>(message.size())}, message);
}

void Connection::fail(const std::string& message) {
  send(wire::Failure{0, static_cast<std::uint32_t>(message.size())}, message);
}

Credentials Connection::credentials() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return Credentials{0, static_cast<uid_t>(-1)};
  return Credentials{peer.pid, peer.uid};
}

namespace {

/// A socket file that a killed daemon left behind: nobody listens there any more.
bool remove_if_stale(const sockaddr_un& name, socklen_t length) {
  const base::UniqueFd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  struct stat file {};
  if (!probe || ::stat(name.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), length) == 0) return false;
  return errno == ECONNREFUSED && ::unlink(name.sun_path) == 0;
}

}  // namespace

support::Result<base::UniqueFd> listen_at(const std::string& address) {
  const auto failed = [&](const char* what) {
    return support::error(
        fmt::format(messages::session_server::kCannotListen, address, std::strerror(errno), what));
  };
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.empty() || address.size() >= sizeof name.sun_path)
    return support::error(fmt::format(messages::session_server::kAddressLength, address));
  std::memcpy(name.sun_path, address.data(), address.size());
  const bool abstract = address[0] == '@';
  if (abstract) name.sun_path[0] = '\0';
  base::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed("socket");
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() + (abstract ? 0 : 1));
  const mode_t mask = ::umask(0177);
  const auto* const where = reinterpret_cast<const sockaddr*>(&name);
  int bound = ::bind(socket.get(), where, length);
  if (bound != 0 && errno == EADDRINUSE && !abstract && remove_if_stale(name, length))
    bound = ::bind(socket.get(), where, length);
  const int failure = errno;
  ::umask(mask);
  if (bound != 0 && failure == EADDRINUSE)
    return support::error(fmt::format(messages::session_server::kAddressInUse, address));
  errno = failure;
  if (bound != 0) return failed("bind");
  if (::listen(socket.get(), 128) != 0) return failed("listen");
  return socket;
}

}  // namespace gpuprof::session
