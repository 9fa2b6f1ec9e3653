// SPDX-License-Identifier: Apache-2.0
//
// Starts other programs and says exactly why one could not be started.
//
// Context:  daemon | cli
#include "support/process/subprocess.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/messages/process.hpp"
#include "support/process/write_error_signals.hpp"
#include "support/text/text.hpp"

extern char** environ;

namespace gpuprof::support {
namespace {

using base::UniqueFd;

struct Pipe {
  UniqueFd read_end, write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return error(fmt::format(messages::process::kCannotCreatePipe, strerror(errno)));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// The errno of an exec that failed; false: it worked.
bool read_failure(int fd, int* failure) {
  ssize_t n = 0;
  do {
    n = ::read(fd, failure, sizeof *failure);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof *failure);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// Puts the wanted descriptors in place; sources are first moved out of the way of the targets.
int place_descriptors(const std::vector<std::pair<int, int>>& wanted, int* report_fd) {
  int top = 3;
  for (const auto& [target, source] : wanted) top = std::max({top, target + 1, source + 1});
  *report_fd = fcntl(*report_fd, F_DUPFD_CLOEXEC, top);
  std::vector<int> moved;
  for (const auto& [target, source] : wanted) {
    moved.push_back(fcntl(source, F_DUPFD_CLOEXEC, top));
    if (moved.back() < 0) return errno;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (dup2(moved[i], wanted[i].first) < 0) return errno;
  }
  return *report_fd < 0 ? errno : 0;
}

[[noreturn]] void run_child(LaunchOptions& launch, int report_fd) {
  int failure = place_descriptors(launch.descriptors, &report_fd);
  if (failure == 0) {
    restore_write_error_signals();
    if (launch.pre_exec) launch.pre_exec(launch);
    const std::vector<char*> argv = pointers(launch.arguments);
    const std::vector<char*> envp = pointers(launch.environment);
    // execvpe with a slash: as execve, and a text file without #! goes to /bin/sh as in a shell.
    execvpe(launch.path.c_str(), argv.data(), envp.data());
    failure = errno;
  }
  // A parent that is gone has no use for the answer.
  [[maybe_unused]] const ssize_t n = ::write(report_fd, &failure, sizeof failure);
  _exit(127);
}

std::string read_until(int fd, std::uint64_t deadline_ns, bool* timed_out) {
  constexpr std::size_t kMaxBytes = 1 << 20;
  std::string text;
  char chunk[4096];
  while (true) {
    const std::uint64_t now = base::mono_ns();
    if (now >= deadline_ns) {
      *timed_out = true;
      return text;
    }
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>((deadline_ns - now) / 1'000'000 + 1));
    if (ready <= 0) continue;
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n <= 0) return text;
    if (text.size() < kMaxBytes) text.append(chunk, static_cast<std::size_t>(n));
  }
}

CapturedOutput collect(pid_t pid, int fd, std::uint64_t timeout_ns) {
  CapturedOutput captured;
  const std::uint64_t deadline = base::mono_ns() + timeout_ns;
  captured.out = read_until(fd, deadline, &captured.timed_out);
  if (captured.timed_out) kill(pid, SIGKILL);
  while (waitpid(pid, &captured.wait_status, 0) < 0 && errno == EINTR) {
  }
  return captured;
}

}  // namespace

Error exec_error(const std::string& path, int failure) {
  switch (failure) {
    case ENOENT:
      if (access(path.c_str(), F_OK) == 0) {
        return error(fmt::format(messages::process::kNoInterpreter, in_quotes(path)), 126);
      }
      return error(fmt::format(messages::process::kNoSuchProgram, in_quotes(path)), 127);
    case ENOTDIR:
      return error(fmt::format(messages::process::kPathThroughFile, in_quotes(path)), 127);
    case EACCES:
      return error(fmt::format(messages::process::kNotExecutable, in_quotes(path)), 126);
    default:
      return error(fmt::format(messages::process::kCannotRun, in_quotes(path), strerror(failure)),
                   126);
  }
}

Result<pid_t> launch_process(LaunchOptions launch) {
  GPUPROF_TRY(report, make_pipe());
  const pid_t pid = fork();
  if (pid < 0) return error(fmt::format(messages::process::kCannotStartProcess, strerror(errno)));
  if (pid == 0) run_child(launch, report.write_end.get());
  report.write_end.reset();
  if (launch.post_fork) launch.post_fork(pid);
  int failure = 0;
  if (!read_failure(report.read_end.get(), &failure)) return pid;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return exec_error(launch.path, failure);
}

bool reap_child(pid_t pid, std::uint64_t timeout_ns) {
  const std::uint64_t deadline = base::mono_ns() + timeout_ns;
  while (true) {
    const pid_t gone = waitpid(pid, nullptr, WNOHANG);
    if (gone == pid || (gone < 0 && errno != EINTR)) return true;
    if (base::mono_ns() >= deadline) return false;
    const timespec rest{0, 1'000'000};
    nanosleep(&rest, nullptr);
  }
}

Result<CapturedOutput> run_captured(const std::vector<std::string>& arguments,
                                    const std::vector<std::string>& environment,
                                    std::uint64_t timeout_ns) {
  GPUPROF_TRY(out, make_pipe());
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return error(fmt::format(messages::process::kCannotOpenNull, strerror(errno)));
  LaunchOptions launch;
  launch.path = arguments.front();
  launch.arguments = arguments;
  launch.environment = environment;
  launch.descriptors = {{0, null.get()}, {1, out.write_end.get()}, {2, null.get()}};
  GPUPROF_TRY(pid, launch_process(std::move(launch)));
  out.write_end.reset();
  return collect(pid, out.read_end.get(), timeout_ns);
}

Result<CapturedOutput> run_in_fork(const std::function<void(int out)>& work,
                                   std::uint64_t timeout_ns) {
  GPUPROF_TRY(out, make_pipe());
  const pid_t pid = fork();
  if (pid < 0) return error(fmt::format(messages::process::kCannotStartProcess, strerror(errno)));
  if (pid == 0) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    work(out.write_end.get());
    _exit(0);
  }
  out.write_end.reset();
  return collect(pid, out.read_end.get(), timeout_ns);
}

std::vector<std::string> current_environment() {
  std::vector<std::string> words;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word)
    words.emplace_back(*word);
  return words;
}

namespace {
auto find_word(const std::vector<std::string>& words, const std::string& name) {
  return std::find_if(words.begin(), words.end(), [&](const std::string& word) {
    return word.size() > name.size() && word[name.size()] == '=' &&
           word.compare(0, name.size(), name) == 0;
  });
}
}  // namespace

std::string environment_get(const std::vector<std::string>& words, const std::string& name) {
  const auto at = find_word(words, name);
  return at == words.end() ? "" : at->substr(name.size() + 1);
}

bool environment_has(const std::vector<std::string>& words, const std::string& name) {
  return find_word(words, name) != words.end();
}

void environment_set(std::vector<std::string>& words, const std::string& name,
                     const std::string& value) {
  const auto at = find_word(words, name);
  const std::string word = name + "=" + value;
  if (at == words.end()) {
    words.push_back(word);
  } else {
    words[static_cast<std::size_t>(at - words.begin())] = word;
  }
}

void environment_remove(std::vector<std::string>& words, const std::string& name) {
  while (true) {
    const auto at = find_word(words, name);
    if (at == words.end()) return;
    words.erase(at);
  }
}

}  // namespace gpuprof::support
