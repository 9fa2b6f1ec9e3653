// SPDX-License-Identifier: Apache-2.0
//
// A command started from a process with many threads.
//
// Context:  serve
#include "serve/capture_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include "gpuprof/base/clock.hpp"
#include "support/messages/process.hpp"
#include "support/text/text.hpp"

namespace gpuprof::serve {
namespace {

constexpr std::size_t kMaxErrorsBytes = 64 << 10;
constexpr long kChildLookNs = 10'000'000;
constexpr int kKeptFd = 3;

/// In the child: nothing here allocates or takes a lock.
[[noreturn]] void exec_in_child(char* const* words, int null, int errors, int kept, pid_t parent) {
  setsid();
  // It writes what it has, and its daemon lets the processes go.
  prctl(PR_SET_PDEATHSIG, SIGINT, 0, 0, 0);
  if (getppid() != parent) _exit(1);
  // Sources are above the targets already.
  dup2(null, 0);
  dup2(null, 1);
  dup2(errors, 2);
  if (kept >= 0) dup2(kept, kKeptFd);
  syscall(SYS_close_range, kept >= 0 ? kKeptFd + 1U : 3U, ~0U, 0U);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(words[0], words);
  _exit(127);
}

base::UniqueFd duplicate_above_stdio(int fd) {
  return base::UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 10));
}

}  // namespace

CaptureProcess::CaptureProcess(pid_t pid, base::UniqueFd stderr_text)
    : pid_(pid), error_pipe_(std::move(stderr_text)) {}

CaptureProcess::CaptureProcess(CaptureProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      error_pipe_(std::move(other.error_pipe_)),
      errors_(std::move(other.errors_)),
      wait_status_(other.wait_status_),
      ended_(other.ended_) {}

CaptureProcess::~CaptureProcess() {
  if (pid_ <= 0 || ended_) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

support::Result<CaptureProcess> CaptureProcess::start(const std::vector<std::string>& words,
                                                      int kept) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return support::error(fmt::format(messages::process::kCannotCreatePipe, strerror(errno)));
  base::UniqueFd read_end(ends[0]), write_end(ends[1]);
  const base::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const base::UniqueFd null_up = duplicate_above_stdio(null.get()),
                       errors_up = duplicate_above_stdio(write_end.get());
  if (!null_up || !errors_up)
    return support::error(fmt::format(messages::process::kCannotOpenNull, strerror(errno)));
  fcntl(errors_up.get(), F_SETFL, 0);  // blocking for the child; our end stays as it is
  const base::UniqueFd kept_up = duplicate_above_stdio(kept);
  std::vector<std::string> copies = words;
  std::vector<char*> pointers;
  for (std::string& word : copies) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    return support::error(fmt::format(messages::process::kCannotStartProcess, strerror(errno)));
  if (pid == 0)
    exec_in_child(pointers.data(), null_up.get(), errors_up.get(), kept_up.get(), parent);
  return CaptureProcess(pid, std::move(read_end));
}

void CaptureProcess::read_errors() {
  char chunk[4096];
  ssize_t n = 0;
  while ((n = read(error_pipe_.get(), chunk, sizeof chunk)) > 0)
    if (errors_.size() < kMaxErrorsBytes) errors_.append(chunk, static_cast<std::size_t>(n));
}

bool CaptureProcess::wait_until_ended(std::uint64_t timeout_ns) {
  const std::uint64_t deadline = base::mono_ns() + timeout_ns;
  while (!ended_) {
    read_errors();  // or it would stand still at a full pipe
    const pid_t gone = waitpid(pid_, &wait_status_, WNOHANG);
    ended_ = gone == pid_ || (gone < 0 && errno != EINTR);
    if (ended_ || base::mono_ns() >= deadline) break;
    const timespec rest{0, kChildLookNs};
    nanosleep(&rest, nullptr);
  }
  return ended_;
}

void CaptureProcess::interrupt() {
  if (pid_ > 0 && !ended_) kill(pid_, SIGINT);
}

const std::string& CaptureProcess::stderr_text() {
  read_errors();
  return errors_;
}

}  // namespace gpuprof::serve
