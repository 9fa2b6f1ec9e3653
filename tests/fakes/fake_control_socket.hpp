// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the control socket of a process with the library in it: a socket, and answers by
// hand.
//
// Context:  tests; one thread
// Owns:     the socket and, unless abstract, its file
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "gpuprof/base/unique_fd.hpp"
#include "gpuprof/wire/control_socket.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::fakes {

class FakeControlSocket {
 public:
  /// Where the library of this process, or of `pid`, would have its control socket.
  static std::string path_of(unsigned pid, unsigned long long nonce) {
    const std::string folder = "/tmp/gpuprof-" + std::to_string(::geteuid());
    ::mkdir(folder.c_str(), 0700);
    char name[64];
    std::snprintf(name, sizeof name, wire::kControlSocketName, pid, nonce);
    return folder + "/" + name;
  }

  /// @param path A path, or `@NAME`.
  explicit FakeControlSocket(std::string path, int backlog = 8) : path_(std::move(path)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path_.data(), path_.size());
    const bool abstract = path_[0] == '@';
    if (abstract) name.sun_path[0] = '\0';
    listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto bytes =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size() + (abstract ? 0 : 1));
    good_ = ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), bytes) == 0 &&
            ::listen(listener_.get(), backlog) == 0;
  }
  ~FakeControlSocket() {
    if (path_[0] == '/') ::unlink(path_.c_str());
  }
  FakeControlSocket(const FakeControlSocket&) = delete;
  FakeControlSocket& operator=(const FakeControlSocket&) = delete;

  bool good() const { return good_; }
  const std::string& path() const { return path_; }
  /// As if the process had been killed: the file stays, nobody listens.
  void stop_listening() { listener_.reset(); }

  /// Waits for a request that is more than a look at who listens. Invalid: none came.
  wire::MessageType wait_for_request(int timeout_ms = 5000) {
    for (;;) {
      caller_ = next_caller(timeout_ms);
      if (!caller_) return wire::MessageType{};
      const ssize_t got = ::recv(caller_.get(), bytes_.data(), bytes_.size(), 0);
      std::uint16_t major = 0;
      if (got > 0 &&
          wire::parse_packet(bytes_.data(), static_cast<std::size_t>(got), &packet_, &major))
        return packet_.type;
    }
  }
  /// Gives the next caller up before it is heard, as a worker does that has waited for it.
  void reject_next(int timeout_ms = 5000) { next_caller(timeout_ms).reset(); }
  const wire::Packet& packet() const { return packet_; }
  std::string text() const { return std::string(packet_.tail, packet_.tail_bytes); }

  template <typename M>
  void reply(const M& body, const std::string& tail = {}, bool of_another_version = false) {
    std::byte out[4096];
    const std::size_t bytes = wire::encode_message(body, tail.data(), tail.size(), out, sizeof out);
    wire::MessageHeader header;
    std::memcpy(&header, out, sizeof header);
    if (of_another_version) ++header.major;
    std::memcpy(out, &header, sizeof header);
    ::send(caller_.get(), out, bytes, MSG_NOSIGNAL);
  }
  void refuse(const std::string& message) {
    reply(wire::Refused{0, static_cast<std::uint32_t>(message.size())}, message);
  }
  /// The connection of whoever asked last.
  base::UniqueFd take_caller() { return std::move(caller_); }

 private:
  /// The test's own process, in those that it forks, too.
  static inline const pid_t kTest = ::getpid();

  /// Tests that run beside this one ask at every control socket that they find: those hear nothing.
  base::UniqueFd next_caller(int timeout_ms) {
    for (;;) {
      pollfd wait{listener_.get(), POLLIN, 0};
      if (::poll(&wait, 1, timeout_ms) != 1) return {};
      base::UniqueFd caller(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      ucred who{};
      socklen_t bytes = sizeof who;
      if (::getsockopt(caller.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 &&
          (who.pid == kTest || support::process_stat(who.pid).parent == kTest))
        return caller;
    }
  }

  std::string path_;
  base::UniqueFd listener_, caller_;
  bool good_ = false;
  alignas(8) std::array<std::byte, 8192> bytes_{};
  wire::Packet packet_{};
};

}  // namespace gpuprof::fakes
