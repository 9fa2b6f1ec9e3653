// SPDX-License-Identifier: Apache-2.0
//
// One child, one pipe, one deadline.
//
// Context:  tools
#include "tools/ask.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace gpusim {
namespace {

constexpr int kPatienceMs = 10'000;

[[noreturn]] void become(const std::vector<std::string>& command, int output) {
  unsetenv("LD_PRELOAD");
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, 0);
  dup2(output, 1);
  dup2(nothing, 2);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

/// Reads to the end of the pipe. Returns false if it did not come in time.
bool read_all(int from, std::string& text) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(kPatienceMs);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wait{from, POLLIN, 0};
    if (left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) <= 0) return false;
    char chunk[4096];
    const ssize_t n = read(from, chunk, sizeof chunk);
    if (n <= 0) return n == 0;
    text.append(chunk, static_cast<std::size_t>(n));
  }
}

}  // namespace

std::string run_helper(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) become(command, ends[1]);
  close(ends[1]);
  std::string text;
  const bool whole = child > 0 && read_all(ends[0], text);
  close(ends[0]);
  if (child <= 0) return {};
  if (!whole) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  return whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::string();
}

}  // namespace gpusim
