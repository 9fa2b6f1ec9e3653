// SPDX-License-Identifier: Apache-2.0
//
// The daemon's part of a run: opened before the program, closed after it, with what came of it.
//
// Context:  cli
#include "cli/run_session.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "cli/daemon_process.hpp"
#include "daemon/api/export_session.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/log.hpp"
#include "support/text.hpp"
#include "support/tty.hpp"

namespace gpuprof::cli {
namespace {

using Kind = api::Event::Kind;

constexpr std::uint64_t kAnswer_ns = 10'000'000'000;
constexpr std::uint64_t kLook_ns = 100'000'000;        // how often we look for Ctrl-C while waiting
constexpr std::uint64_t kSilence_ns = 60'000'000'000;  // a daemon that says nothing is stuck

}  // namespace

support::Result<std::unique_ptr<RunSession>> RunSession::open(const std::string& daemon,
                                                              std::vector<std::string> environment,
                                                              const api::SessionOptions& options,
                                                              const std::string& output_folder,
                                                              bool verbose) {
  GPUPROF_TRY(socket, start_daemon(daemon, std::move(environment), verbose));
  std::unique_ptr<RunSession> session(new RunSession(api::Client(std::move(socket))));
  GPUPROF_TRY(ready, session->client_.open(options, kAnswer_ns));
  session->ready_ = ready;
  session->output_folder_ = output_folder;
  spdlog::info("session {:x} of daemon {} is open", ready.session, ready.daemon_pid);
  return session;
}

void RunSession::command_started(std::uint32_t pid) { client_.command_started(pid); }

void RunSession::listen() {
  const api::Event event = client_.receive(0);
  if (event.kind == Kind::kFailure) {
    failures_.push_back(event.text);
    spdlog::warn("{}", event.text);
  } else if (event.kind == Kind::kClosed) {
    lost_ = true;
    lost_why_ = event.text;
    spdlog::error("{}", event.text);
  }
}

Outcome RunSession::finish(int wait_status, const std::function<int()>& interrupts) {
  Outcome outcome;
  if (!lost_) client_.command_ended(wait_status);
  if (lost_ || !wait_for_summary(&outcome, interrupts)) recover(&outcome);
  for (std::string& sentence : failures_) outcome.summary.failures.push_back(std::move(sentence));
  if (!outcome.summary.failures.empty() || !outcome.summary.complete) outcome.failed = true;
  return outcome;
}

/// True if the summary came, or waiting was given up with the daemon still at work.
bool RunSession::wait_for_summary(Outcome* outcome, const std::function<int()>& interrupts) {
  support::ProgressLine line(STDERR_FILENO);
  int interrupted = 0;
  std::uint64_t last_word_ns = base::mono_ns();
  while (true) {
    const api::Event event = client_.receive(kLook_ns);
    if (event.kind != Kind::kNothing) last_word_ns = base::mono_ns();
    switch (event.kind) {
      case Kind::kSummary:
        outcome->summary = event.summary;
        return true;
      case Kind::kFailure:
        failures_.push_back(event.text);
        break;
      case Kind::kProgress:
        line.show(event.text.empty() ? "writing the trace:" : event.text, event.done, event.total);
        break;
      case Kind::kClosed:
        lost_ = true;
        lost_why_ = event.text;
        return false;
      case Kind::kNothing:
        line.show("writing the trace ...");
        break;
    }
    interrupted += interrupts();
    const bool silent = base::mono_ns() - last_word_ns > kSilence_ns;
    if (interrupted < 2 && !silent) continue;
    outcome->summary.complete = false;
    outcome->summary.output = output_folder_;
    outcome->summary.failures.push_back(
        fmt::format("{}; the daemon (process {}) goes on writing to {}",
                    silent ? "the daemon has said nothing for a minute" : "interrupted",
                    ready_.daemon_pid, output_folder_));
    return true;
  }
}

void RunSession::recover(Outcome* outcome) {
  outcome->failed = true;
  api::Summary& summary = outcome->summary;
  summary.complete = false;
  summary.output = output_folder_;
  const std::string spool = kept_spool();
  if (spool.empty()) {
    summary.failures.push_back(lost_why_ + "; it left nothing to recover");
    return;
  }
  support::ProgressLine line(STDERR_FILENO);
  api::ExportRequest request;
  request.spool = spool;
  auto recovered = api::export_session(request, [&](std::uint64_t done, std::uint64_t total) {
    line.show("recovering", done, total);
  });
  line.clear();
  if (recovered) {
    summary = recovered.take();
    summary.failures.push_back(lost_why_ + "; the files were recovered from what it had stored");
  } else {
    summary.failures.push_back(lost_why_ + "; recovering failed: " + recovered.error().sentence);
  }
  summary.complete = false;
  summary.spool_folder = spool;
}

std::string RunSession::kept_spool() const {
  const std::vector<std::string> found = api::spools_of(output_folder_, ready_.daemon_pid);
  return found.empty() ? "" : found.back();
}

void RunSession::abandon() {
  client_.end_session();
  // It removes its spool before it answers; then the output folder is empty again.
  const std::uint64_t deadline = base::mono_ns() + 2'000'000'000;
  while (base::mono_ns() < deadline) {
    const api::Event event = client_.receive(kLook_ns);
    if (event.kind == Kind::kSummary || event.kind == Kind::kClosed) return;
  }
}

}  // namespace gpuprof::cli
