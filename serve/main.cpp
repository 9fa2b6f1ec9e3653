// SPDX-License-Identifier: Apache-2.0
//
// gpuprof-serve: answers the "Capture profile" button of TensorBoard and xprof. Started by
// `gpuprof run --serve` and `gpuprof serve`; a program of its own because gRPC brings dozens of
// libraries along.
//
// Context:  serve
// Owns:     the process: its descriptors and signals
// Promises: ends when whoever started it does, having answered what it records
// Not here: which address (support/io/listen_address), what a call does (profiler_service_impl.cpp)
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "daemon/client/serve_protocol.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "recording/session/trace_categories.hpp"
#include "serve/grpc_server.hpp"
#include "serve/messages/serve_program.hpp"
#include "serve/profiler_service_impl.hpp"
#include "serve/work_folder.hpp"
#include "support/io/files.hpp"
#include "support/io/log.hpp"
#include "support/process/write_error_signals.hpp"
#include "support/text/text.hpp"

#ifndef GPUPROF_VERSION
#define GPUPROF_VERSION "0.1.0"
#endif

namespace gpuprof::serve {
namespace {

struct Options {
  bool of_program = false, all = false, verbose = false;
  std::uint32_t allowed = wire::kTraceAll;
  std::string pids, names;  // separated by commas
  std::vector<std::string> capture_words;
};

/// Where memory runs out, this goes and the program stays.
void raise_oom_score() {
  std::ofstream file("/proc/self/oom_score_adj");
  file << "1000";
}

bool send_to_parent(const std::string& word) {
  return send(client::kServeControlFd, word.data(), word.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(word.size());
}

/// One word of whoever started us; empty: it is gone.
std::string receive_from_parent() {
  char text[client::kMaxServeMessageBytes];
  const ssize_t n = recv(client::kServeControlFd, text, sizeof text, 0);
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

/// True if it was understood.
bool handle_message(const std::string& word, Service& service) {
  const std::string start = client::kServeProgram;
  if (!word.starts_with(start)) return false;
  const auto pid = support::parse_unsigned(word.substr(start.size()));
  if (!pid) return false;
  ProcessFilter choice;
  choice.program = static_cast<std::uint32_t>(pid.value());
  service.set_filter(choice);
  return true;
}

ProcessFilter filter_of(const Options& options) {
  ProcessFilter choice;
  choice.all = options.all;
  for (const std::string& word : support::split(options.pids, ','))
    if (const auto pid = support::parse_unsigned(word); pid)
      choice.pids.push_back(static_cast<std::uint32_t>(pid.value()));
  if (!options.names.empty()) choice.names = support::split(options.names, ',');
  return choice;
}

int serve(const Options& options) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);  // of gRPC's threads, too
  const base::UniqueFd signals(signalfd(-1, &ends, SFD_CLOEXEC));
  for (const int fd : {client::kServeListenFd, client::kServeControlFd})
    fcntl(fd, F_SETFD, FD_CLOEXEC);
  WorkFolder::remove_stale();
  const std::string bin = support::parent_folder(support::executable_path());
  const bool named = !options.of_program && !options.all;
  Service service({bin + "/gpuprof", options.capture_words, named}, options.allowed);
  if (!options.of_program) service.set_filter(filter_of(options));
  GrpcServer front(service, base::UniqueFd(client::kServeListenFd));
  if (!front.is_running()) {
    send_to_parent(messages::serve_program::kNoGrpc);
    return 125;
  }
  if (!send_to_parent(client::kServeReady)) return 0;
  pollfd waiting[] = {{client::kServeControlFd, POLLIN, 0}, {signals.get(), POLLIN, 0}};
  while (true) {
    if (poll(waiting, 2, -1) < 0) continue;
    if (waiting[1].revents != 0) break;
    if (waiting[0].revents != 0 && !handle_message(receive_from_parent(), service)) break;
  }
  spdlog::info(messages::serve_program::kSessionEnded);
  service.close();
  return 0;
}

void add_options(CLI::App& app, Options& options) {
  app.add_flag("--of-program", options.of_program, messages::serve_program::kOfProgram);
  app.add_flag("--all", options.all, messages::serve_program::kAll);
  app.add_option("--pid", options.pids, messages::serve_program::kPid);
  app.add_option("--name", options.names, messages::serve_program::kName);
  app.add_option("--sources", options.allowed, messages::serve_program::kSources);
  app.add_flag("--verbose", options.verbose, messages::serve_program::kVerbose);
  app.add_option("capture_words", options.capture_words, messages::serve_program::kCaptureWords);
  app.set_version_flag("--version", "gpuprof-serve " GPUPROF_VERSION);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app{messages::serve_program::kAbout, "gpuprof-serve"};
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 125;
  }
  struct stat facts {};
  if (fstat(client::kServeControlFd, &facts) != 0 || !S_ISSOCK(facts.st_mode)) {
    std::fputs(messages::serve_program::kNotStartedByHand, stderr);
    return 125;
  }
  support::ignore_write_error_signals();
  support::disable_log();
  if (options.verbose) support::log_to_stderr("gpuprof-serve");
  raise_oom_score();
  return serve(options);
}

}  // namespace
}  // namespace gpuprof::serve

int main(int argc, char** argv) {
  try {
    return gpuprof::serve::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, gpuprof::messages::serve_program::kInternalError, failure.what());
    return 125;
  }
}
