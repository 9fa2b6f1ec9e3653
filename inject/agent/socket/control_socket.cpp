// SPDX-License-Identifier: Apache-2.0
//
// Makes and removes the control socket's socket.
//
// Context:  worker (unlink_control_socket: boundary)
#include "inject/agent/socket/control_socket.hpp"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <utility>

#include "gpuprof/wire/control_socket.hpp"

namespace gpuprof::agent {

namespace {

constexpr int kBacklog = 8;

// What unlink_control_socket() removes: threads of the program must not look at the worker's own
// state.
char g_control_socket_path[108];
constinit std::atomic<bool> g_control_socket_exists{false};

// Ours, and nobody else's to write in. A link somebody put there is not followed.
bool is_private_folder(const char* path) {
  struct stat info {};
  if (::mkdir(path, 0700) != 0 && errno != EEXIST) return false;
  return ::lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 0077) == 0 && ::access(path, W_OK | X_OK) == 0;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0)
    if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
      number = reinterpret_cast<std::uintptr_t>(&number) ^ static_cast<std::uint64_t>(getpid());
  return number;
}

// The last one to leave takes the folder with it.
void remove_with_folder(const char* file) {
  char folder[108];
  strncpy(folder, file, sizeof folder);
  if (char* slash = strrchr(folder, '/'); slash != nullptr) *slash = '\0';
  ::unlink(file);
  ::rmdir(folder);  // fails while another process has its control socket there
}

}  // namespace

bool ControlSocket::bind_and_listen(const sockaddr_un& name, socklen_t bytes) {
  base::UniqueFd raw(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!raw) return false;
  if (::bind(raw.get(), reinterpret_cast<const sockaddr*>(&name), bytes) != 0) return false;
  return ::listen(raw.get(), kBacklog) == 0 && socket_.adopt(std::move(raw));
}

bool ControlSocket::open_in(const wire::ControlSocketFolder& place) {
  char folder[64];
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  snprintf(folder, sizeof folder, "%s%u%s", place.prefix, geteuid(), place.suffix);
  if (!is_private_folder(folder)) return false;
  const int folder_bytes = snprintf(name.sun_path, sizeof name.sun_path, "%s/", folder);
  snprintf(name.sun_path + folder_bytes, sizeof name.sun_path - static_cast<unsigned>(folder_bytes),
           wire::kControlSocketName, static_cast<unsigned>(getpid()),
           static_cast<unsigned long long>(nonce_));
  memcpy(path_, name.sun_path, sizeof path_);
  strncat(name.sun_path, wire::kNotListeningSuffix, 8);
  if (!bind_and_listen(name, sizeof name) || ::rename(name.sun_path, path_) != 0) {
    ::unlink(name.sun_path);
    socket_.close();
    path_[0] = '\0';
    return false;
  }
  memcpy(g_control_socket_path, path_, sizeof g_control_socket_path);
  g_control_socket_exists.store(true, std::memory_order_release);
  return true;
}

bool ControlSocket::open_abstract() {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const int bytes = snprintf(name.sun_path, sizeof name.sun_path, wire::kAbstractSocketName,
                             static_cast<unsigned>(geteuid()), static_cast<unsigned>(getpid()),
                             static_cast<unsigned long long>(nonce_));
  name.sun_path[0] = '\0';
  path_[0] = '\0';
  return bind_and_listen(
      name, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + static_cast<unsigned>(bytes)));
}

bool ControlSocket::open(std::uint64_t nonce) {
  if (is_open()) return true;
  if (nonce != 0) nonce_ = nonce;
  if (nonce_ == 0) nonce_ = random_number();
  for (const wire::ControlSocketFolder& folder : wire::kControlSocketFolders)
    // Again, where another process has just taken the folder away.
    for (int i = 0; i < 2; ++i)
      if (open_in(folder)) return true;
  return open_abstract();
}

bool ControlSocket::lost() const {
  if (!is_open()) return false;
  return !socket_.is_intact() ||
         (path_[0] != '\0' && ::access(path_, F_OK) != 0 && errno == ENOENT);
}

base::UniqueFd ControlSocket::accept(std::uint32_t* peer_pid) {
  if (!is_open() || !socket_.is_intact()) return base::UniqueFd();
  base::UniqueFd peer(::accept4(socket_.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer) return peer;
  ucred who{};
  socklen_t bytes = sizeof who;
  if (getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) return base::UniqueFd();
  if (who.uid != geteuid() && who.uid != 0) return base::UniqueFd();
  *peer_pid = static_cast<std::uint32_t>(who.pid);
  return peer;
}

void ControlSocket::close() {
  if (path_[0] != '\0') {
    g_control_socket_exists.store(false, std::memory_order_release);
    remove_with_folder(path_);
  }
  path_[0] = '\0';
  socket_.close();
}

void ControlSocket::forget_descriptor() {
  socket_.fd = -1;
  close();
}

void ControlSocket::abandon_to_parent(bool with_descriptor) {
  if (with_descriptor) socket_.close();
  socket_.fd = -1;
  nonce_ = 0;
  path_[0] = '\0';
  g_control_socket_exists.store(false, std::memory_order_release);
}

void unlink_control_socket() {
  if (g_control_socket_exists.exchange(false, std::memory_order_acq_rel))
    remove_with_folder(g_control_socket_path);
}

}  // namespace gpuprof::agent
