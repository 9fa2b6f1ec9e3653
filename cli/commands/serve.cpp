// SPDX-License-Identifier: Apache-2.0
//
// gpuprof serve: the "Capture profile" button for processes that wait.
//
// Context:  cli
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/messages/command_processes.hpp"
#include "cli/options/command_table.hpp"
#include "cli/output/output_location.hpp"
#include "cli/session/serve_process.hpp"
#include "cli/target/environment.hpp"
#include "cli/target/target_selection.hpp"
#include "support/process/write_error_signals.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

constexpr char kDefaultAddress[] = "127.0.0.1:6009";
constexpr std::uint64_t kLastAnswerNs = 10'000'000'000;

/// Words for whose processes are served: as typed, since they may come and go.
support::Result<std::vector<std::string>> process_selectors(const Options& options) {
  std::vector<std::string> pids, names, words;
  for (const std::uint32_t pid : options.pids) pids.push_back(std::to_string(pid));
  for (const std::string& word : options.arguments) {
    const bool ids = word.find_first_not_of("0123456789,") == std::string::npos;
    (ids ? pids : names).push_back(word);
  }
  if (options.all) {
    words.emplace_back("--all");
    return words;
  }
  if (!pids.empty()) words.push_back("--pid=" + support::join(pids, ","));
  if (!names.empty()) words.push_back("--name=" + support::join(names, ","));
  if (words.empty()) return support::error(messages::command_processes::kServeNeedsProcess);
  return words;
}

}  // namespace

support::Result<int> serve_command(Options& options) {
  support::ignore_write_error_signals();
  if (options.serve.empty()) options.serve = kDefaultAddress;
  GPUPROF_TRY(words, process_selectors(options));
  // A number or name that is wrong is reported now; one that ends later is none to record.
  if (!options.all) GPUPROF_CHECK(select_processes(options, "serve"));
  sigset_t ends;
  sigset_t before;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  const base::UniqueFd signals(signalfd(-1, &ends, SFD_CLOEXEC));
  GPUPROF_TRY(helper, ServeProcess::start(options, "--at", words,
                                          daemon_environment(current_run_context().environment)));
  sigprocmask(SIG_BLOCK, &ends, &before);
  std::fprintf(stderr, "gpuprof: %s\n",
               fmt::format(messages::command_processes::kServing, helper->address()).c_str());
  pollfd waiting[] = {{signals.get(), POLLIN, 0}, {helper->fd(), POLLIN, 0}};
  while (waiting[0].revents == 0 && waiting[1].revents == 0) poll(waiting, 2, -1);
  if (waiting[1].revents != 0) usleep(100'000);  // it is about to be a child that has ended
  const std::string early = helper->wait_for_exit(kLastAnswerNs);
  signalfd_siginfo taken;  // or it would still end us
  while (poll(waiting, 1, 0) > 0) read(signals.get(), &taken, sizeof taken);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (!early.empty()) return support::error(early);
  return 0;
}

}  // namespace gpuprof::cli
