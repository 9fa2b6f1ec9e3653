// SPDX-License-Identifier: Apache-2.0
//
// The program that answers the "Capture profile" button beside a gpuprof command.
//
// Context:  cli
#include "cli/session/serve_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "cli/messages/session_daemon.hpp"
#include "cli/messages/session_serve.hpp"
#include "daemon/client/serve_protocol.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/io/files.hpp"
#include "support/messages/process.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::error;

constexpr char kHelperName[] = "/gpuprof-serve";
/// Its libraries may have to come from a slow disk.
constexpr std::uint64_t kReadyNs = 20'000'000'000;
/// Where nothing is recorded it ends at once.
constexpr std::uint64_t kServeExitTimeout_ns = 500'000'000;

/// Whatever holds it: our exit leaves nobody behind.
void reap_or_kill(pid_t pid, std::uint64_t timeout_ns) {
  if (support::reap_child(pid, timeout_ns)) return;
  kill(pid, SIGKILL);
  support::reap_child(pid, kServeExitTimeout_ns);
}

support::Result<support::ListenAddress> address_of(const Options& options,
                                                   const std::string& option) {
  GPUPROF_TRY(address, support::parse_listen_address(option, options.serve));
  if (address.loopback || options.serve_to_network) return address;
  return error(fmt::format(messages::session_serve::kOpenToNetwork, option, address.text));
}

std::vector<std::string> helper_arguments(const std::string& path, const Options& options,
                                          const std::vector<std::string>& whom) {
  std::vector<std::string> words = {path, fmt::format("--sources={}", options.session.trace)};
  words.insert(words.end(), whom.begin(), whom.end());
  if (options.verbose) words.emplace_back("--verbose");
  words.emplace_back("--");
  for (std::string& word : capture_arguments(options)) words.push_back(std::move(word));
  return words;
}

}  // namespace

std::vector<std::string> capture_arguments(const Options& options) {
  const recording::SessionOptions& asked = options.session;
  const recording::SessionOptions plain;
  std::vector<std::string> words = {fmt::format("--rate={}", asked.rate_hz),
                                    "--sampler=" + asked.sampler,
                                    fmt::format("--max-size={}", asked.max_size_bytes)};
  const auto add = [&words](bool given, const std::string& word) {
    if (given) words.push_back(word);
  };
  add(asked.max_overhead != "off", "--max-overhead=" + asked.max_overhead);
  add(!asked.cuda_graph.empty(), "--cuda-graph=" + asked.cuda_graph);
  add(asked.buffer_size_bytes != 0, fmt::format("--buffer-size={}", asked.buffer_size_bytes));
  add(!asked.record_shapes, "--no-record-shapes");
  add(!asked.with_stack, "--no-with-stack");
  add(!asked.with_modules, "--no-with-modules");
  add(!asked.profile_memory, "--no-profile-memory");
  add(asked.step != plain.step, "--step=" + asked.step);
  add(!options.daemon_path.empty(),
      "--daemon=" + (options.daemon_path.starts_with("@")
                         ? options.daemon_path
                         : support::absolute_path(options.daemon_path, support::current_folder())));
  return words;
}

ServeProcess::ServeProcess(base::UniqueFd control, pid_t pid, std::string address)
    : control_(std::move(control)), pid_(pid), address_(std::move(address)) {}

support::Result<std::unique_ptr<ServeProcess>> ServeProcess::start(
    const Options& options, const std::string& option, const std::vector<std::string>& whom,
    std::vector<std::string> environment) {
  GPUPROF_TRY(address, address_of(options, option));
  const std::string path = support::parent_folder(support::executable_path()) + kHelperName;
  if (access(path.c_str(), X_OK) != 0)
    return error(fmt::format(messages::session_serve::kNoHelper, option, support::in_quotes(path)));
  GPUPROF_TRY(listener, support::listen_at(option, address));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return error(fmt::format(messages::session_daemon::kNoSocket, strerror(errno)));
  base::UniqueFd ours(ends[0]), theirs(ends[1]);
  const base::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return error(fmt::format(messages::process::kCannotOpenNull, strerror(errno)));
  support::LaunchOptions launch;
  launch.path = path;
  launch.arguments = helper_arguments(path, options, whom);
  launch.environment = std::move(environment);
  launch.descriptors = {{0, null.get()},
                        {1, null.get()},
                        {2, options.verbose ? STDERR_FILENO : null.get()},
                        {client::kServeListenFd, listener.get()},
                        {client::kServeControlFd, theirs.get()}};
  launch.pre_exec = [](support::LaunchOptions&) {
    setsid();  // Ctrl-C is for the program
    syscall(SYS_close_range, client::kServeControlFd + 1U, ~0U, CLOSE_RANGE_CLOEXEC);
  };
  auto started = support::launch_process(std::move(launch));
  if (!started)
    return error(
        fmt::format(messages::session_serve::kCannotStart, option, started.error().message));
  theirs.reset();
  std::unique_ptr<ServeProcess> made(
      new ServeProcess(std::move(ours), started.value(), address.text));
  if (auto ready = made->wait_until_ready(path); !ready) {
    made->request_exit();
    support::reap_child(made->pid_, 0);
    return error(fmt::format(messages::session_serve::kCannotServe, option, address.text,
                             ready.error().message));
  }
  return made;
}

support::Result<void> ServeProcess::wait_until_ready(const std::string& path) {
  pollfd waiting{control_.get(), POLLIN, 0};
  const std::uint64_t deadline = base::mono_ns() + kReadyNs;
  int ready = 0;
  do {
    const std::uint64_t now = base::mono_ns();
    if (now >= deadline)
      return error(fmt::format(messages::session_serve::kNoResponse, support::in_quotes(path)));
    ready = poll(&waiting, 1, static_cast<int>((deadline - now) / 1'000'000 + 1));
  } while (ready <= 0);
  char text[client::kMaxServeMessageBytes];
  const ssize_t n = recv(control_.get(), text, sizeof text, 0);
  const std::string word(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  if (word == client::kServeReady) return {};
  if (!word.empty()) return error(word);
  return error(fmt::format(messages::session_serve::kEndedSilently, support::in_quotes(path),
                           support::shell_join({path})));
}

ServeProcess::~ServeProcess() {
  request_exit();
  reap_or_kill(pid_, kServeExitTimeout_ns);
}

void ServeProcess::set_program(pid_t program) {
  const std::string word = fmt::format("{}{}", client::kServeProgram, program);
  [[maybe_unused]] const ssize_t n =
      send(control_.get(), word.data(), word.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::string ServeProcess::wait_for_exit(std::uint64_t timeout_ns) {
  int status = 0;
  const bool early = control_ && waitpid(pid_, &status, WNOHANG) == pid_;
  request_exit();
  if (!early) {
    reap_or_kill(pid_, timeout_ns);
    return "";
  }
  return WIFSIGNALED(status)
             ? fmt::format(messages::session_serve::kKilled, support::signal_name(WTERMSIG(status)),
                           address_)
             : fmt::format(messages::session_serve::kEnded, WEXITSTATUS(status), address_);
}

}  // namespace gpuprof::cli
