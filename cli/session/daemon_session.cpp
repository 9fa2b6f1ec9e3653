// SPDX-License-Identifier: Apache-2.0
//
// The daemon's part of a run: opened before the program, closed after it, with what came of it.
//
// Context:  cli
#include "cli/session/daemon_session.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "analysis/commands/export_session.hpp"
#include "cli/messages/session_daemon.hpp"
#include "cli/session/daemon_process.hpp"
#include "daemon/messages/schedule.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/io/log.hpp"
#include "support/io/progress_line.hpp"
#include "support/process/procfs.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using Kind = client::DaemonMessage::Kind;

constexpr std::uint64_t kReplyTimeout_ns = 10'000'000'000;
constexpr std::uint64_t kLookNs =
    DaemonWatchdog::kPollInterval_ns;  // also for Ctrl-C while waiting
// A daemon that has sent its summary has nothing left to do but to exit.
constexpr std::uint64_t kDaemonExitTimeout_ns = 1'000'000'000;

DaemonWatchdog::Observation observe_daemon(pid_t pid) {
  const support::ProcessStat stat = support::process_stat(pid);
  // Not to be seen (another pid namespace): the socket will close if it ends.
  return {stat.is_stopped_or_traced(), !stat.exists || support::any_thread_runnable(pid),
          stat.cpu_ticks};
}

/// The daemon's own sentence, or that this is no daemon at all.
support::Error no_reply_error(const support::Error& failure, const std::string& daemon) {
  if (failure.message != client::kEndedUnexpectedly) return failure;
  return support::error(fmt::format(messages::session_daemon::kNoReply, support::in_quotes(daemon),
                                    support::shell_join({daemon})));
}

}  // namespace

support::Result<std::unique_ptr<DaemonSession>> DaemonSession::open(
    const Installation& installation, std::vector<std::string> environment,
    const recording::SessionOptions& options, const Setup& setup) {
  const std::string& daemon = installation.daemon;
  GPUPROF_TRY(process, installation.daemon_listens
                           ? connect_daemon(daemon)
                           : start_daemon(daemon, std::move(environment), setup.verbose));
  std::unique_ptr<DaemonSession> session(
      new DaemonSession(client::Client(std::move(process.socket))));
  session->child_ = process.pid;
  session->setup_ = setup;
  auto ready = session->client_.open(options, kReplyTimeout_ns);
  if (!ready) return no_reply_error(ready.error(), daemon);
  session->ready_ = ready.take();
  spdlog::info(messages::session_daemon::kSessionOpen, session->ready_.session,
               session->ready_.daemon_pid);
  return session;
}

void DaemonSession::command_started(std::uint32_t pid) { client_.command_started(pid); }

DaemonSession::~DaemonSession() {
  client_.close();
  if (child_ > 0 && !left_behind_) support::reap_child(child_, kDaemonExitTimeout_ns);
}

void DaemonSession::handle_message() {
  client::DaemonMessage event = client_.receive(0);
  switch (event.kind) {
    case Kind::kFailure:
      spdlog::warn("{}", event.text);
      failures_.push_back(std::move(event.text));
      break;
    case Kind::kSummary:
      // The daemon was told to end; it wrote what it had.
      spdlog::warn(messages::session_daemon::kSessionEnded);
      early_summary_ = std::move(event.summary);
      break;
    case Kind::kClosed:
      closed_ = true;
      if (early_summary_) break;
      daemon_lost_ = true;
      daemon_lost_reason_ = event.text;
      spdlog::error("{}", event.text);
      break;
    default:
      break;
  }
}

SessionOutcome DaemonSession::finish(int wait_status, const std::function<int()>& interrupts) {
  SessionOutcome outcome;
  if (early_summary_) {
    outcome.summary = std::move(*early_summary_);
    outcome.has_summary = true;
  } else {
    if (!daemon_lost_) client_.command_ended(wait_status);
    support::ProgressLine line(setup_.quiet ? -1 : STDERR_FILENO);
    if (daemon_lost_ || !wait_for_summary(&outcome, interrupts, line)) recover(&outcome);
  }
  return conclude(std::move(outcome));
}

SessionOutcome DaemonSession::conclude(SessionOutcome outcome) {
  if (outcome.summary.terminated)
    outcome.summary.failures.emplace_back(messages::session_daemon::kTerminated);
  for (std::string& message : failures_) outcome.summary.failures.push_back(std::move(message));
  if (!outcome.summary.failures.empty() || !outcome.summary.complete) outcome.failed = true;
  return outcome;
}

void DaemonSession::add_process(const control::ControlSocket& control_socket, bool named,
                                bool then_detach) {
  attached_ = true;
  client_.join_process(control_socket.pid, control_socket.path, named, then_detach,
                       control_socket.program);
}

SessionOutcome DaemonSession::wait_until_recorded(const std::function<int()>& interrupts,
                                                  support::ProgressLine& line) {
  SessionOutcome outcome;
  client_.joins_complete();
  if (!wait_for_summary(&outcome, interrupts, line)) recover(&outcome);
  return conclude(std::move(outcome));
}

/// True if the summary came, or waiting was given up with the daemon left to itself.
bool DaemonSession::wait_for_summary(SessionOutcome* outcome,
                                     const std::function<int()>& interrupts,
                                     support::ProgressLine& line) {
  DaemonWatchdog pulse;
  const auto daemon = static_cast<pid_t>(ready_.daemon_pid);
  int interrupted = 0;
  bool reported = false;
  while (true) {
    client::DaemonMessage event = client_.receive(kLookNs);
    auto state = DaemonWatchdog::State::kAlive;
    if (event.kind != Kind::kNothing) pulse.reset();
    switch (event.kind) {
      case Kind::kSummary:
        outcome->summary = std::move(event.summary);
        outcome->has_summary = true;
        return true;
      case Kind::kFailure:
        failures_.push_back(std::move(event.text));
        break;
      case Kind::kProgress:
        reported = true;
        if (event.total == 0 && attached_)
          line.update(event.text);
        else
          line.update(event.text.empty() ? messages::schedule::kWritingTrace : event.text,
                      event.done, event.total);
        break;
      case Kind::kClosed:
        daemon_lost_ = true;
        daemon_lost_reason_ = event.text;
        return false;
      case Kind::kNothing:
        // The daemon's own words come as often as we look: this must not replace them.
        if (!reported && !attached_) line.update(messages::session_daemon::kWritingStarts);
        state = pulse.observe(observe_daemon(daemon));
        break;
    }
    const int before = interrupted;
    interrupted += interrupts();
    if (attached_ && before == 0 && interrupted != 0) client_.end_session();
    if (interrupted < 2 && state == DaemonWatchdog::State::kAlive) continue;
    abandon_daemon(outcome, state);
    return true;
  }
}

/// Ends without the daemon, which may still write: nothing of its is touched.
void DaemonSession::abandon_daemon(SessionOutcome* outcome, DaemonWatchdog::State state) {
  left_behind_ = outcome->daemon_abandoned = true;
  const std::uint32_t pid = ready_.daemon_pid;
  recording::Summary& summary = outcome->summary;
  summary.complete = false;
  summary.output = setup_.output_folder;
  if (state == DaemonWatchdog::State::kAlive) {
    summary.failures.push_back(
        fmt::format(messages::session_daemon::kInterrupted, pid, setup_.output_folder));
    return;
  }
  summary.spool_folder = find_spool_folder();
  summary.failures.push_back(state == DaemonWatchdog::State::kStopped
                                 ? fmt::format(messages::session_daemon::kStopped, pid)
                                 : fmt::format(messages::session_daemon::kHangs, pid));
}

void DaemonSession::recover(SessionOutcome* outcome) {
  outcome->failed = true;
  recording::Summary& summary = outcome->summary;
  summary.complete = false;
  summary.output = setup_.output_folder;
  const std::string spool = find_spool_folder();
  if (spool.empty()) {
    summary.failures.push_back(
        fmt::format(messages::session_daemon::kNothingLeft, daemon_lost_reason_));
    return;
  }
  support::ProgressLine line(setup_.quiet ? -1 : STDERR_FILENO);
  commands::ExportRequest request;
  request.spool = spool;
  auto recovered = commands::export_session(request, [&](std::uint64_t done, std::uint64_t total) {
    line.update(messages::session_daemon::kRecovering, done, total);
  });
  line.clear();
  if (recovered) {
    summary = recovered.take();
    summary.failures.push_back(
        fmt::format(messages::session_daemon::kRecovered, daemon_lost_reason_, spool));
  } else {
    summary.failures.push_back(fmt::format(messages::session_daemon::kRecoveryFailed,
                                           daemon_lost_reason_, recovered.error().message));
    summary.spool_folder = spool;
  }
  summary.complete = false;
}

std::string DaemonSession::find_spool_folder() const {
  return commands::spool_of(setup_.output_folder, ready_.daemon_pid, ready_.session);
}

void DaemonSession::cancel() {
  client_.end_session();
  // It removes its spool before it answers; then the output folder is empty again.
  const std::uint64_t deadline = base::mono_ns() + 2'000'000'000;
  while (base::mono_ns() < deadline) {
    const client::DaemonMessage event = client_.receive(kLookNs);
    if (event.kind == Kind::kSummary || event.kind == Kind::kClosed) return;
  }
}

}  // namespace gpuprof::cli
