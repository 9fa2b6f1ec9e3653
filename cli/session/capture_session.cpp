// SPDX-License-Identifier: Apache-2.0
//
// One recording of processes that run already: session, output, interrupts, summary.
//
// Context:  cli
#include "cli/session/capture_session.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "cli/messages/session_capture.hpp"
#include "cli/options/version.hpp"
#include "cli/output/summary_output.hpp"
#include "cli/session/capture_schedule.hpp"
#include "cli/target/environment.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/io/files.hpp"
#include "support/process/procfs.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::error;

/// Here the recording is what is waited for, from the first moment.
constexpr std::uint64_t kSilentNs = 0;
/// A process detaches within tens of milliseconds, from CUPTI within a second or two.
constexpr std::uint64_t kDetachNs = 5'000'000'000;

std::atomic<int> g_interrupts{0};
std::atomic<bool> g_interrupted{false};

void count_interrupt(int) {
  g_interrupted = true;
  g_interrupts.fetch_add(1);
}

void install_interrupt_handlers() {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

void restore_interrupt_handlers() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
}

}  // namespace

support::Result<std::unique_ptr<CaptureSession>> CaptureSession::open(Options& options) {
  // Before there is anything that we would leave behind.
  install_interrupt_handlers();
  std::unique_ptr<CaptureSession> made(new CaptureSession());
  const RunContext around = current_run_context();
  GPUPROF_CHECK(resolve_capture_schedule(options));
  GPUPROF_TRY(place, resolve_output(options.output, around));
  GPUPROF_CHECK(check_summary_file(options.summary_json, place.folder));
  made->place_ = place;
  GPUPROF_TRY(installation, find_installation(support::executable_path(), options.daemon_path));
  made->installation_ = installation;
  GPUPROF_CHECK(create_output(&made->place_, options.session.force));
  options.session.output = made->place_.output;
  options.session.output_is_pattern = made->place_.is_pattern;
  options.session.working_directory = around.working_folder;
  options.session.version = kVersion;
  auto session =
      DaemonSession::open(installation, daemon_environment(around.environment), options.session,
                          {made->place_.folder, options.quiet, options.verbose});
  if (!session) {
    support::remove_if_empty(made->place_.created_folders);
    return session.error();
  }
  made->session_ = session.take();
  made->line_ =
      std::make_unique<support::ProgressLine>(options.quiet ? -1 : STDERR_FILENO, kSilentNs);
  return made;
}

CaptureSession::~CaptureSession() { restore_interrupt_handlers(); }

void CaptureSession::add(const control::ControlSocket& control_socket, bool named,
                         bool then_detach) {
  session_->add_process(control_socket, named, then_detach);
  if (then_detach) to_detach_.push_back(control_socket);
}

bool CaptureSession::interrupted() const { return g_interrupted; }

support::Error CaptureSession::interrupted_error() {
  return error(messages::session_capture::kInterrupted);
}

/// The control socket is the last thing of ours that goes.
void CaptureSession::wait_for_detached(recording::Summary& summary) {
  const std::uint64_t deadline_ns = base::mono_ns() + kDetachNs;
  for (const control::ControlSocket& control_socket : to_detach_) {
    const auto stopped = [&] {
      return support::process_stat(static_cast<pid_t>(control_socket.pid)).is_stopped();
    };
    while (control::is_listening(control_socket) && !stopped() && base::mono_ns() < deadline_ns) {
      line_->update(messages::session_capture::kDetaching);
      usleep(5000);
    }
    if (control::is_listening(control_socket))
      summary.missing.push_back(
          stopped()
              ? fmt::format(messages::session_capture::kNotDetachedStopped, control_socket.pid)
              : fmt::format(messages::session_capture::kNotDetached, control_socket.pid));
  }
  if (!to_detach_.empty()) line_->show_stage(messages::session_capture::kDetached);
}

void CaptureSession::cancel() {
  session_->cancel();
  session_.reset();
  support::remove_if_empty(place_.created_folders);
}

support::Result<int> CaptureSession::finish(const Options& options) {
  SessionOutcome outcome =
      session_->wait_until_recorded([] { return g_interrupts.exchange(0); }, *line_);
  session_.reset();
  recording::Summary& summary = outcome.summary;
  if (!outcome.daemon_abandoned) wait_for_detached(summary);
  summary.nothing = summary.files.empty() && summary.failures.empty();
  if (summary.nothing)
    summary.failures.push_back(interrupted() ? interrupted_error().message
                                             : messages::session_capture::kNothing);
  line_.reset();
  summary.remarks.insert(summary.remarks.begin(), remarks_.begin(), remarks_.end());
  summary.failures.insert(summary.failures.begin(), failures_.begin(), failures_.end());
  for (const recording::SummaryFile& file : summary.files) std::printf("%s\n", file.path.c_str());
  const bool printed = std::fflush(stdout) == 0;
  const bool reported = write_summary(options, summary);
  support::remove_if_empty(place_.created_folders);
  if (!printed) return error(messages::session_capture::kCannotWriteStdout);
  const bool failed = outcome.failed || !failures_.empty();
  return failed || !reported || summary.files.empty() ? 125 : 0;
}

}  // namespace gpuprof::cli
