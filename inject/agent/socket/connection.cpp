// SPDX-License-Identifier: Apache-2.0
//
// Socket of the worker.
//
// Context:  worker
#include "inject/agent/socket/connection.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "gpuprof/base/clock.hpp"

namespace gpuprof::agent {

namespace {

// High enough that the program's own descriptors start at 3, low enough that the kernel's table
// stays small (it is copied at every fork).
int first_own_fd() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  const rlim_t top = std::min<rlim_t>(limit.rlim_cur, 4096);
  return static_cast<int>(top - std::min<rlim_t>(24, top / 2));
}

bool trusted_user(int fd) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

bool CheckedFd::adopt(base::UniqueFd raw) {
  const int moved = fcntl(raw.get(), F_DUPFD_CLOEXEC, first_own_fd());
  struct stat info {};
  if (moved < 0 || fstat(moved, &info) != 0) return false;
  fd = moved;
  device = info.st_dev;
  inode = info.st_ino;
  return true;
}

bool CheckedFd::is_intact() const {
  struct stat info {};
  return fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

void CheckedFd::close() {
  if (is_intact()) ::close(fd);
  fd = -1;
}

bool Connection::open(const Address& address) {
  base::UniqueFd raw(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!raw) return false;
  // Unix sockets connect at once or not at all: EAGAIN means a full backlog.
  for (int attempt = 0;; ++attempt) {
    if (::connect(raw.get(), reinterpret_cast<const sockaddr*>(&address.socket),
                  address.socket_bytes) == 0)
      break;
    if (errno != EAGAIN || attempt == 50) return false;
    usleep(2000);
  }
  return trusted_user(raw.get()) && socket_.adopt(std::move(raw));
}

void Connection::close() { socket_.close(); }

SendResult Connection::try_send(const std::byte* packet, std::size_t bytes) {
  if (socket_.fd < 0) return SendResult::kPeerGone;
  while (::send(socket_.fd, packet, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == ENOBUFS ? SendResult::kFull : SendResult::kPeerGone;
  }
  return SendResult::kSent;
}

bool Connection::send_packet(std::size_t bytes) {
  const std::uint64_t deadline = base::mono_ns() + send_deadline_ms_ * 1'000'000ULL;
  for (;;) {
    const SendResult sent = try_send(packet_out_, bytes);
    if (sent != SendResult::kFull) return sent == SendResult::kSent;
    if (base::mono_ns() >= deadline) return false;
    pollfd one{socket_.fd, POLLOUT, 0};
    poll(&one, 1, 20);
  }
}

ReceiveResult Connection::receive(wire::Packet* packet, base::UniqueFd* received_fd) {
  iovec part{packet_in_, sizeof packet_in_};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket_.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return ReceiveResult::kNothing;
    return errno == EBADF || errno == ENOTSOCK ? ReceiveResult::kDescriptorLost
                                               : ReceiveResult::kPeerGone;
  }
  // An empty packet may carry descriptors, too: they are looked at first.
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    // The room that alignment leaves holds one more.
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
      if (at == 0)
        received_fd->reset(fd);
      else
        ::close(fd);
    }
  }
  std::uint16_t major = 0;
  if (got == 0) return ReceiveResult::kPeerGone;
  if (!wire::parse_packet(packet_in_, static_cast<std::size_t>(got), packet, &major) ||
      major != wire::kWireMajor)
    return ReceiveResult::kPeerGone;
  return ReceiveResult::kPacket;
}

void Connection::wait(int timeout_ms) {
  pollfd one{socket_.fd, POLLIN, 0};
  poll(&one, 1, timeout_ms);
}

}  // namespace gpuprof::agent
