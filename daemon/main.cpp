// SPDX-License-Identifier: Apache-2.0
//
// gpuprofd: options → server → loop.
//
// Context:  daemon
// Owns:     the process: its session, its signals, its descriptors
// Promises: nothing on stdout but --help and --version; nothing on stderr unless asked (--log -)
// Not here: everything else (daemon/session)
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <climits>
#include <cstdio>
#include <random>

#include "daemon/messages/session_server.hpp"
#include "daemon/session/server.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/io/files.hpp"
#include "support/process/sched_slice.hpp"
#include "support/process/write_error_signals.hpp"
#include "support/result.hpp"

#ifndef GPUPROF_VERSION
#define GPUPROF_VERSION "0.1.0"
#endif

namespace gpuprof {
namespace {

struct Options {
  std::string listen;
  int control_fd = -1;
  std::string log;
};

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "host";
}

std::string fresh_address() {
  std::random_device device;
  char text[64];
  std::snprintf(text, sizeof text, "@gpuprof-%d-%08x%08x", ::getpid(), device(), device());
  return text;
}

/// Processes of a session have other working folders than ours.
std::string absolute_address(const std::string& address) {
  return address[0] == '@' ? address : support::absolute_path(address, support::current_folder());
}

/// What the starter had open is not ours to hold open: a pipe would never see its end.
void close_inherited(int keep_fd) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const unsigned last = ~0u;
  const auto close_range = [](unsigned from, unsigned to) {
    return from > to || ::syscall(SYS_close_range, from, to, 0) == 0;
  };
  const auto keep = static_cast<unsigned>(keep_fd);
  const bool done =
      keep_fd < 3 ? close_range(3, last) : close_range(3, keep - 1) && close_range(keep + 1, last);
  if (done) return;
  const int most = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65'536));
  for (int fd = 3; fd < most; ++fd)
    if (fd != keep_fd) ::close(fd);
}

/// What a shell limits its programs to (ulimit -f, ulimit -n) is not meant for a spool, nor for the
/// one process that has a socket, a segment and a spool for each of a program's. No child of ours
/// inherits it: there is none.
void raise_limits() {
  for (const auto which : {RLIMIT_FSIZE, RLIMIT_NOFILE}) {
    rlimit limit{};
    if (::getrlimit(which, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(which, &limit);
  }
}

void start_log(const std::string& where) {
  std::shared_ptr<spdlog::logger> logger;
  if (where.empty())
    logger = std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::null_sink_st>());
  else if (where == "-")
    logger =
        std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  else
    logger = std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::basic_file_sink_mt>(where));
  spdlog::set_default_logger(logger);
  spdlog::set_pattern("gpuprofd[%l] %v");
  spdlog::set_level(where.empty() ? spdlog::level::off : spdlog::level::debug);
  spdlog::flush_on(spdlog::level::info);
}

support::Result<int> serve(const Options& options) {
  close_inherited(options.control_fd);
  if (options.control_fd >= 0) ::setsid();  // fails harmlessly for a group leader
  support::ignore_write_error_signals();
  raise_limits();
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&ends, signal);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  const base::UniqueFd signals(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));

  session::Server::Setup setup;
  setup.address = options.listen.empty() ? fresh_address() : absolute_address(options.listen);
  setup.host = host_name();
  if (options.control_fd >= 0) {
    ::fcntl(options.control_fd, F_SETFD, FD_CLOEXEC);
    setup.control.reset(options.control_fd);
  }
  // A burst of small operators fills a ring in 5 ms.
  constexpr std::uint64_t kSliceNs = 100'000;
  support::set_sched_slice(kSliceNs);
  GPUPROF_TRY(server, session::Server::create(std::move(setup)));
  server->stop_when_readable(signals.get());
  spdlog::info("listening at {}", server->address());
  server->run();
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app{messages::session_server::kDescription, "gpuprofd"};
  app.add_option("--listen", options.listen, messages::session_server::kListenHelp)
      ->type_name("SOCKET");
  app.add_option("--control-fd", options.control_fd, messages::session_server::kControlFdHelp)
      ->type_name("N");
  app.add_option("--log", options.log, messages::session_server::kLogHelp)->type_name("FILE");
  app.set_version_flag("--version", "gpuprofd " GPUPROF_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 125;
  }
  if (options.listen.empty() && options.control_fd < 0) {
    std::fprintf(stderr, "gpuprofd: %s\n", messages::session_server::kNoSocket);
    return 125;
  }
  try {
    start_log(options.log);
  } catch (const spdlog::spdlog_ex& problem) {
    std::fprintf(stderr, "gpuprofd: %s\n",
                 fmt::format(messages::session_server::kCannotWriteLog, problem.what()).c_str());
    return 125;
  }
  const auto result = serve(options);
  if (result) return result.value();
  spdlog::error("{}", result.error().message);
  std::fprintf(stderr, "gpuprofd: %s\n", result.error().message.c_str());
  return result.error().exit_status;
}

}  // namespace
}  // namespace gpuprof

int main(int argc, char** argv) { return gpuprof::run(argc, argv); }
