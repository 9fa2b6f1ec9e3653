// SPDX-License-Identifier: Apache-2.0
//
// Tells a signal sent to our whole process group from one sent to us alone.
//
// Context:  cli
#include "cli/group_watch.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>
#include <utility>

#include "gpuprof/base/clock.hpp"
#include "support/child.hpp"

namespace gpuprof::cli {
namespace {

// Both members of a group have a signal pending when kill returns; this is for the scheduler.
constexpr std::uint64_t kPatience_ns = 50'000'000;
// It ends as soon as the socket closes, unless somebody has stopped it.
constexpr std::uint64_t kGoodbye_ns = 200'000'000;
constexpr int kWatched[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP};

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kWatched) sigaddset(&set, signal);
  return set;
}

/// Leaves the socket as descriptor 3 and nothing else of ours or the program's.
void keep_only(int socket) {
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  dup2(socket, 3);
  syscall(SYS_close_range, 4U, ~0U, 0U);
}

[[noreturn]] void watch(int socket) {
  keep_only(socket);
  if (chdir("/") != 0) _exit(1);
  prctl(PR_SET_NAME, "gpuprof-watch");
  const sigset_t set = watched();
  const int signals = signalfd(-1, &set, SFD_CLOEXEC);
  pollfd waiting[] = {{3, POLLIN, 0}, {signals, POLLIN, 0}};
  while (true) {
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) _exit(1);
    if (waiting[0].revents != 0) _exit(0);
    signalfd_siginfo info;
    if (waiting[1].revents == 0 || read(signals, &info, sizeof info) != sizeof info) continue;
    const char number = static_cast<char>(info.ssi_signo);
    if (send(3, &number, 1, MSG_NOSIGNAL) != 1) _exit(0);
  }
}

}  // namespace

GroupWatch::GroupWatch() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  base::UniqueFd ours(ends[0]), theirs(ends[1]);
  // Ready before it exists: a signal between fork and signalfd stays pending, and Ctrl-C is not
  // for it.
  sigset_t before;
  sigset_t set = watched();
  for (const int signal : {SIGINT, SIGQUIT, SIGTTIN, SIGTTOU}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, &before);
  pid_ = fork();
  if (pid_ == 0) watch(theirs.get());
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid_ > 0) socket_ = std::move(ours);
}

GroupWatch::~GroupWatch() {
  socket_.reset();
  if (pid_ > 0) support::collect_child(pid_, kGoodbye_ns);
}

void GroupWatch::listen() {
  char numbers[16];
  const ssize_t n = recv(socket_.get(), numbers, sizeof numbers, MSG_DONTWAIT);
  for (ssize_t i = 0; i < n; ++i) {
    if (numbers[i] > 0 && numbers[i] < 65) ++seen_[static_cast<int>(numbers[i])];
  }
  if (n == 0) socket_.reset();
}

bool GroupWatch::group_got(int signal) {
  if (signal < 1 || signal > 64) return false;
  const std::uint64_t deadline = base::mono_ns() + kPatience_ns;
  while (socket_) {
    if (seen_[signal] != 0) {
      --seen_[signal];
      return true;
    }
    const std::uint64_t now = base::mono_ns();
    if (now >= deadline) return false;
    pollfd waiting{socket_.get(), POLLIN, 0};
    poll(&waiting, 1, static_cast<int>((deadline - now) / 1'000'000 + 1));
    listen();
  }
  return false;
}

}  // namespace gpuprof::cli
