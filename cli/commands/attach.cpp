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

#include "cli/command_table.hpp"
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

struct Chosen {
  std::uint32_t pid = 0;
  api::Door door;     // empty path: the library must be brought in
  bool named = true;  // not only found by --children
};

/// One whose memory is gone already has ended a moment later.
bool ends_now(std::uint32_t pid) {
  constexpr int kLooks = 50;
  for (int look = 0; look < kLooks; ++look) {
    if (support::has_ended(static_cast<pid_t>(pid))) return true;
    usleep(1000);
  }
  return false;
}

/// Processes that are not recorded.
struct LeftOut {
  std::vector<std::string> failures;
  std::size_t ended = 0;  // of those that were not named: the way of short ones

  void add(const Chosen& one, const support::Error& why) {
    if (!one.named && ends_now(one.pid))
      ++ended;
    else
      failures.push_back(why.sentence);
  }
};

/// Brings the library in where it is not.
support::Result<api::Door> open_door(const Chosen& one, const Options& options,
                                     CaptureSession& session, std::vector<api::Attached>& pauses) {
  if (!one.door.path.empty()) return one.door;
  return bring_in(one.pid, session.installation().library, options, [&](const api::Attached& done) {
    session.show(fmt::format("injected ({} pause)", support::human_duration(done.pause_ns)));
    pauses.push_back(done);
  });
}

support::Result<void> may_record(const Chosen& one, const Options& options) {
  const auto pid = static_cast<pid_t>(one.pid);
  const support::ProcessStat stat = support::process_stat(pid);
  // Its thread could be made to load the library, but the library's own would not run.
  if (stat.state == 'T')
    return error(fmt::format("process {} is stopped; let it go on first: kill -CONT {}", pid, pid));
  if (one.door.path.empty()) return api::may_attach(pid, options.ignore_seccomp);
  GPUPROF_TRY(status, api::ask_status(one.door));
  return not_recorded_now(status);
}

/// Everything that can be known without touching a process.
///
/// Errors: a process that was named cannot be recorded; of those that --children found it is left
/// out.
support::Result<std::vector<Chosen>> choose_processes(const Options& options, LeftOut& left_out) {
  GPUPROF_TRY(pids, processes_by_id(options, "attach"));
  Options without_children = options;
  without_children.children = false;
  GPUPROF_TRY(named, processes_by_id(without_children, "attach"));
  std::vector<Chosen> chosen;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const Chosen one{pids[i], api::door_of(pids[i]), i < named.size()};
    const auto may = may_record(one, options);
    if (may)
      chosen.push_back(one);
    else if (one.named)
      return may.error();
    else
      left_out.add(one, may.error());
  }
  return chosen;
}

/// One sentence, however many processes there are.
void tell_pauses(const std::vector<api::Attached>& all, CaptureSession& session) {
  if (all.empty()) return;
  std::uint64_t longest_ns = 0, loaded = 0;
  for (const api::Attached& one : all) {
    longest_ns = std::max(longest_ns, one.pause_ns);
    loaded += one.was_loaded ? 1 : 0;
  }
  const std::string pause = support::human_duration(longest_ns);
  const char* how = loaded == all.size() ? "woken" : "brought in";
  session.remark(
      all.size() == 1
          ? fmt::format("the library was {} while a thread stood still for {}", how, pause)
          : fmt::format("the library was {} while a thread of each of {} processes stood "
                        "still, for {} at most",
                        how, all.size(), pause));
}

}  // namespace

support::Result<int> attach_command(Options& options) {
  support::ignore_write_signals();
  LeftOut left_out;
  GPUPROF_TRY(chosen, choose_processes(options, left_out));
  GPUPROF_TRY(session, CaptureSession::open(options));
  std::vector<api::Attached> pauses;
  std::size_t added = 0;
  for (const Chosen& one : chosen) {
    if (session->interrupted()) break;
    auto door = open_door(one, options, *session, pauses);
    if (door) {
      session->add(door.value(), one.named && !options.by_rules,
                   one.door.path.empty() && !options.stay);
      ++added;
    } else {
      left_out.add(one, door.error());
    }
  }
  if (added == 0) {
    session->abandon();
    return left_out.failures.empty() ? CaptureSession::interrupted_too_early()
                                     : error(left_out.failures.front());
  }
  tell_pauses(pauses, *session);
  for (const std::string& sentence : left_out.failures) session->failure(sentence);
  if (left_out.ended != 0)
    session->remark(fmt::format("{} that --children found ended before being attached to",
                                support::counted(left_out.ended, "process", "processes")));
  return session->finish(options);
}

}  // namespace gpuprof::cli
