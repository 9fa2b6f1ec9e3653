// SPDX-License-Identifier: Apache-2.0
//
// gpuprof attach: record processes that were started without us.
//
// Context:  cli
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/messages/command_attach.hpp"
#include "cli/options/command_table.hpp"
#include "cli/session/capture_session.hpp"
#include "cli/target/inject_library.hpp"
#include "cli/target/target_selection.hpp"
#include "daemon/client/attach.hpp"
#include "support/process/procfs.hpp"
#include "support/process/write_error_signals.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::error;

struct AttachTarget {
  std::uint32_t pid = 0;
  control::ControlSocket control_socket;  // empty path: the library must be brought in
  bool named = true;                      // not only found by --children
};

/// One whose memory is gone already has ended a moment later.
bool is_exiting(std::uint32_t pid) {
  constexpr int kLooks = 50;
  for (int look = 0; look < kLooks; ++look) {
    if (support::has_ended(static_cast<pid_t>(pid))) return true;
    usleep(1000);
  }
  return false;
}

/// Processes that are not recorded.
struct SkippedProcesses {
  std::vector<std::string> failures;
  std::size_t ended = 0;  // of those that were not named: the way of short ones

  void add(const AttachTarget& one, const support::Error& why) {
    if (!one.named && is_exiting(one.pid))
      ++ended;
    else
      failures.push_back(why.message);
  }
};

/// Brings the library in where it is not.
support::Result<control::ControlSocket> ensure_control_socket(
    const AttachTarget& one, const Options& options, CaptureSession& session,
    std::vector<client::AttachResult>& pauses) {
  if (!one.control_socket.path.empty()) return one.control_socket;
  return inject_library(one.pid, session.installation().library, options,
                        [&](const client::AttachResult& done) {
                          session.show_stage(fmt::format(messages::command_attach::kInjected,
                                                         support::human_duration(done.pause_ns)));
                          pauses.push_back(done);
                        });
}

support::Result<void> check_recordable(const AttachTarget& one, const Options& options) {
  const auto pid = static_cast<pid_t>(one.pid);
  const support::ProcessStat stat = support::process_stat(pid);
  // Its thread could be made to load the library, but the library's own would not run.
  if (stat.state == 'T')
    return error(fmt::format(messages::command_attach::kProcessIsStopped, pid, pid));
  if (one.control_socket.path.empty()) return client::may_attach(pid, options.ignore_seccomp);
  GPUPROF_TRY(status, control::request_status(one.control_socket));
  return check_not_recording(status);
}

/// Everything that can be known without touching a process.
///
/// Errors: a process that was named cannot be recorded; of those that --children found it is left
/// out.
support::Result<std::vector<AttachTarget>> select_targets(const Options& options,
                                                          SkippedProcesses& left_out) {
  GPUPROF_TRY(pids, select_pids(options, "attach"));
  Options without_children = options;
  without_children.children = false;
  GPUPROF_TRY(named, select_pids(without_children, "attach"));
  std::vector<AttachTarget> selected;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const AttachTarget one{pids[i], control::control_socket_of(pids[i]), i < named.size()};
    const auto may = check_recordable(one, options);
    if (may)
      selected.push_back(one);
    else if (one.named)
      return may.error();
    else
      left_out.add(one, may.error());
  }
  return selected;
}

/// One sentence, however many processes there are.
void add_pause_note(const std::vector<client::AttachResult>& all, CaptureSession& session) {
  if (all.empty()) return;
  std::uint64_t longest_ns = 0, loaded = 0;
  for (const client::AttachResult& one : all) {
    longest_ns = std::max(longest_ns, one.pause_ns);
    loaded += one.was_loaded ? 1 : 0;
  }
  const std::string pause = support::human_duration(longest_ns);
  const bool activated = loaded == all.size();
  if (all.size() == 1)
    session.add_note(activated ? fmt::format(messages::command_attach::kActivatedOne, pause)
                               : fmt::format(messages::command_attach::kInjectedOne, pause));
  else
    session.add_note(activated
                         ? fmt::format(messages::command_attach::kActivatedMany, all.size(), pause)
                         : fmt::format(messages::command_attach::kInjectedMany, all.size(), pause));
}

}  // namespace

support::Result<int> attach_command(Options& options) {
  support::ignore_write_error_signals();
  SkippedProcesses left_out;
  GPUPROF_TRY(selected, select_targets(options, left_out));
  GPUPROF_TRY(session, CaptureSession::open(options));
  std::vector<client::AttachResult> pauses;
  std::size_t added = 0;
  for (const AttachTarget& one : selected) {
    if (session->interrupted()) break;
    auto control_socket = ensure_control_socket(one, options, *session, pauses);
    if (control_socket) {
      session->add(control_socket.value(), one.named && !options.use_role_rules,
                   one.control_socket.path.empty() && !options.stay);
      ++added;
    } else {
      left_out.add(one, control_socket.error());
    }
  }
  if (added == 0) {
    session->cancel();
    return left_out.failures.empty() ? CaptureSession::interrupted_error()
                                     : error(left_out.failures.front());
  }
  add_pause_note(pauses, *session);
  for (const std::string& message : left_out.failures) session->add_failure(message);
  if (left_out.ended != 0)
    session->add_note(
        fmt::format(messages::command_attach::kChildrenEnded,
                    support::count_with_unit(left_out.ended, "process", "processes")));
  return session->finish(options);
}

}  // namespace gpuprof::cli
