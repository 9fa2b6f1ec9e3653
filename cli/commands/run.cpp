// SPDX-License-Identifier: Apache-2.0
//
// gpuprof run: the program, recorded, as if we were not there.
//
// Context:  cli
#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/messages/command_run.hpp"
#include "cli/options/command_table.hpp"
#include "cli/options/version.hpp"
#include "cli/output/output_location.hpp"
#include "cli/output/summary_output.hpp"
#include "cli/session/daemon_session.hpp"
#include "cli/session/serve_process.hpp"
#include "cli/target/environment.hpp"
#include "cli/target/installation.hpp"
#include "cli/target/program.hpp"
#include "cli/target/rest_of_run.hpp"
#include "cli/target/unrecorded_reason.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/messages.hpp"
#include "support/io/files.hpp"
#include "support/io/log.hpp"
#include "support/process/find_program.hpp"
#include "support/process/library_lost.hpp"
#include "support/process/program_probe.hpp"
#include "support/process/subprocess.hpp"
#include "support/process/write_error_signals.hpp"

namespace gpuprof::cli {
namespace {

using support::error;
using support::ProgramKind;

constexpr std::size_t kMaxCommandLineBytes = 4096;

/// Everything settled before the program starts.
struct RunPlan {
  std::string program;
  support::ProgramInfo facts;
  Installation installation;
  OutputLocation place;
  std::vector<std::string> remarks;  // what is missing
  std::vector<std::string> notes;    // what else to know
};

/// Whether the programs it starts could be recorded although it cannot be itself.
bool children_can_be_recorded(ProgramKind kind) {
  return kind == ProgramKind::kStatic || kind == ProgramKind::k32Bit ||
         kind == ProgramKind::kForeignLibc;
}

std::string runtime_folder(const std::vector<std::string>& environment) {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const std::string folder = support::environment_get(environment, name);
    if (!folder.empty() && folder[0] == '/' && access(folder.c_str(), W_OK | X_OK) == 0) {
      return folder;
    }
  }
  return "/tmp";
}

/// A Python script without a first line of its own is started by naming the interpreter.
support::Error add_script_hint(const std::string& word, support::Error failure) {
  if (word.size() > 3 && word.ends_with(".py"))
    failure.message = fmt::format(messages::command_run::kScriptWithoutInterpreter, failure.message,
                                  support::shell_join({word}));
  return failure;
}

support::Result<RunPlan> make_run_plan(const Options& options, const RunContext& around) {
  if (options.command.empty()) return error(messages::command_run::kNoProgram);
  // Without PATH the C library searches these two.
  const std::string path = support::environment_has(around.environment, "PATH")
                               ? support::environment_get(around.environment, "PATH")
                               : "/bin:/usr/bin";
  RunPlan plan;
  GPUPROF_TRY(place, resolve_output(options.output, around));
  plan.place = place;
  auto program_found = support::find_program(options.command[0], path);
  if (!program_found) return add_script_hint(options.command[0], program_found.error());
  const std::string program = program_found.value();
  plan.program = program;
  plan.facts = support::probe_program(program, path);
  GPUPROF_TRY(installation, find_installation(support::executable_path(), options.daemon_path));
  plan.installation = installation;
  if (looks_like_file_name(options.output))
    plan.notes.push_back(
        fmt::format(messages::command_run::kOutputIsFolder, support::in_quotes(options.output)));
  if (const std::string why = support::preload_obstacle(plan.facts); !why.empty()) {
    const bool behind = plan.facts.path != program;
    const std::string named = support::in_quotes(behind ? plan.facts.path : program);
    plan.remarks.push_back(
        children_can_be_recorded(plan.facts.kind)
            ? fmt::format(messages::command_run::kRanUnprofiledButChildren, named, why)
            : fmt::format(messages::command_run::kRanUnprofiled, named, why));
  }
  return plan;
}

recording::SessionOptions session_options(const Options& options, const RunPlan& plan,
                                          const RunContext& around) {
  recording::SessionOptions session = options.session;
  session.output = plan.place.output;
  session.output_is_pattern = plan.place.is_pattern;
  session.command_line = support::join(options.command, " ").substr(0, kMaxCommandLineBytes);
  session.working_directory = around.working_folder;
  session.version = kVersion;
  return session;
}

support::LaunchOptions launch_of(const Options& options, const RunPlan& plan,
                                 std::vector<std::string> environment) {
  support::LaunchOptions launch;
  launch.path = plan.program.find('/') == std::string::npos ? "./" + plan.program : plan.program;
  launch.arguments = options.command;
  launch.environment = std::move(environment);
  launch.pre_exec = [](support::LaunchOptions& child) {
    append_target_pid(child.environment, static_cast<std::uint32_t>(getpid()));
  };
  return launch;
}

[[noreturn]] void end(const Options& options, int wait_status, bool failed) {
  if (failed && options.strict) _exit(125);
  exit_like(wait_status);
}

/// Only here: what was forked before (the daemon, the watch) must not become ours again.
void become_subreaper_if(bool wait_all) {
  if (wait_all) Program::become_subreaper();
}

using ServeProcessPtr = std::unique_ptr<ServeProcess>;

/// Before anything else that can fail late: a port that is taken is reported before the program
/// starts.
support::Result<ServeProcessPtr> start_serving(const Options& options, const RunContext& around) {
  if (options.serve.empty()) return ServeProcessPtr();
  return ServeProcess::start(options, "--serve", {"--of-program"},
                             daemon_environment(around.environment));
}

/// Its last answer may take a moment; without one it ends at once.
std::string end_serving(const ServeProcessPtr& serving) {
  constexpr std::uint64_t kMaxNs = 10'000'000'000;
  return serving ? serving->wait_for_exit(kMaxNs) : "";
}

/// The program without a daemon beside it. @return its wait status.
support::Result<int> run_without_daemon(const Options& options, const RunPlan& plan,
                                        ProgramEnvironment environment, Program& program,
                                        const ServeProcessPtr& serving) {
  const bool wait_all = options.session.wait_for == "all";
  auto started = program.start(launch_of(options, plan, std::move(environment.variables)),
                               [&serving, wait_all](pid_t pid) {
                                 become_subreaper_if(wait_all);
                                 if (serving) serving->set_program(pid);
                               });
  if (!started) return started.error();
  FollowHooks listener;
  if (serving) listener.helpers = {serving->pid()};
  const int wait_status = program.wait_until_exit(listener);
  if (wait_all) program.wait_for_descendants(listener);
  return wait_status;
}

/// The program alone; the summary says why it was not recorded.
support::Result<int> run_unrecorded(Options& options, RunPlan& plan, const RunContext& around) {
  Program program;
  GPUPROF_TRY(wait_status,
              run_without_daemon(options, plan,
                                 program_environment(around.environment, plan.installation, "", ""),
                                 program, nullptr));
  const bool failed = failed_or_out_of_memory(program, [&] {
    program.restore_signals();
    recording::Summary summary;
    summary.version = kVersion;
    summary.host = around.host;
    summary.complete = false;
    summary.missing = plan.remarks;
    write_summary(options, summary);
    return true;
  });
  end(options, wait_status, failed);
}

/// The program alone, waiting for `gpuprof capture`: there is no daemon until then.
support::Result<int> run_armed(Options& options, RunPlan& plan, const RunContext& around,
                               PreloadPath& preload) {
  GPUPROF_TRY(serving, start_serving(options, around));
  const std::string& name = options.session.name;
  ProgramEnvironment environment =
      program_environment(around.environment, plan.installation, preload.value(),
                          wire::kArmedAddress + (name.empty() ? "" : ";name=" + name));
  Program program;
  GPUPROF_TRY(wait_status,
              run_without_daemon(options, plan, std::move(environment), program, serving));
  const bool failed = failed_or_out_of_memory(program, [&] {
    const std::string failure = end_serving(serving);
    preload.remove();
    program.restore_signals();
    if (!failure.empty()) std::fprintf(stderr, "gpuprof: %s\n", failure.c_str());
    return !failure.empty();
  });
  end(options, wait_status, failed);
}

/// Remarks of ours go before the daemon's.
void add_remarks(recording::Summary& summary, const RunPlan& plan,
                 const std::vector<std::string>& more) {
  summary.missing.insert(summary.missing.begin(), plan.remarks.begin(), plan.remarks.end());
  summary.remarks.insert(summary.remarks.begin(), more.begin(), more.end());
  summary.remarks.insert(summary.remarks.begin(), plan.notes.begin(), plan.notes.end());
}

/// How the program ran.
struct ProgramRun {
  int wait_status = 0;
  std::uint64_t lived_ns = 0;
  std::string library_lost;  // it went on without the library, and why
};

ProgramRun follow(Program& program, DaemonSession& session, const RunPlan& plan,
                  const ServeProcessPtr& serving, bool wait_all) {
  ProgramRun course;
  const std::uint64_t start_ns = base::mono_ns();
  FollowHooks listener;
  listener.fd = session.fd();
  listener.helpers = {session.daemon_child_pid()};
  if (serving) listener.helpers.push_back(serving->pid());
  listener.on_readable = [&] {
    session.handle_message();
    listener.fd = session.fd();
  };
  if (plan.facts.preloadable()) {
    listener.on_still_running = [&](pid_t pid) {
      course.library_lost =
          support::library_lost_reason(static_cast<std::uint32_t>(pid), plan.program);
    };
  }
  course.wait_status = program.wait_until_exit(listener);
  spdlog::info(messages::command_run::kProgramEnded, shell_status(course.wait_status));
  course.lived_ns = base::mono_ns() - start_ns;
  if (wait_all) program.wait_for_descendants(listener);
  return course;
}

std::string unrecorded_reason_of(const ProgramRun& course, const RunPlan& plan,
                                 const std::string& program) {
  if (!course.library_lost.empty()) return course.library_lost;
  return unrecorded_reason(plan.facts, program, course.wait_status, course.lived_ns);
}

/// Why there is nothing: of no process, or of one that met the daemon and went on without us first.
void add_unrecorded_reason(recording::Summary& summary, const ProgramRun& course,
                           const RunPlan& plan, const std::string& program) {
  if (summary.processes_seen == 0)
    summary.missing.push_back(unrecorded_reason_of(course, plan, program));
  else if (summary.events_by_kind.empty() && !course.library_lost.empty() &&
           std::count(summary.missing.begin(), summary.missing.end(), course.library_lost) == 0)
    summary.missing.push_back(course.library_lost);
}

/// What a recorded run has beside its program.
struct RecordedRun {
  ServeProcessPtr serving;
  std::unique_ptr<DaemonSession> session;
  ProgramEnvironment environment;
  PreloadPath& preload;
};

/// The program to its end, and what came of it; true: something failed.
bool complete_recorded_run(const Options& options, const RunPlan& plan, RecordedRun& recording,
                           Program& program) {
  DaemonSession& session = *recording.session;
  const ProgramRun course =
      follow(program, session, plan, recording.serving, options.session.wait_for == "all");
  const std::string failure = end_serving(recording.serving);
  SessionOutcome outcome =
      session.finish(course.wait_status, [&program] { return program.take_interrupt_count(); });
  if (const std::string kept = recording.preload.remove(); !kept.empty()) {
    recording.environment.notes.push_back(
        fmt::format(messages::command_run::kPreloadFolderStays, kept));
  }
  program.restore_signals();
  if (outcome.has_summary) add_unrecorded_reason(outcome.summary, course, plan, options.command[0]);
  add_remarks(outcome.summary, plan, recording.environment.notes);
  if (!failure.empty()) {
    outcome.summary.failures.push_back(failure);
    outcome.failed = true;
  }
  recording.session.reset();
  if (!write_summary(options, outcome.summary)) outcome.failed = true;
  support::remove_if_empty(plan.place.created_folders);
  return outcome.failed;
}

support::Result<int> run_recorded(Options& options, RunPlan& plan, const RunContext& around,
                                  PreloadPath& preload) {
  RecordedRun recording{nullptr, nullptr, {}, preload};
  GPUPROF_TRY(serving, start_serving(options, around));
  recording.serving = std::move(serving);
  GPUPROF_CHECK(create_output(&plan.place, options.session.force));
  auto opened = DaemonSession::open(plan.installation, daemon_environment(around.environment),
                                    session_options(options, plan, around),
                                    {plan.place.folder, options.quiet, options.verbose});
  if (!opened) {
    support::remove_if_empty(plan.place.created_folders);
    return opened.error();
  }
  recording.session = opened.take();
  DaemonSession& session = *recording.session;
  recording.environment = program_environment(around.environment, plan.installation,
                                              preload.value(), session.address());
  Program program;
  auto started = program.start(launch_of(options, plan, std::move(recording.environment.variables)),
                               [&](pid_t pid) {
                                 become_subreaper_if(options.session.wait_for == "all");
                                 if (recording.serving) recording.serving->set_program(pid);
                                 session.command_started(static_cast<std::uint32_t>(pid));
                               });
  if (!started) {
    session.cancel();
    support::remove_if_empty(plan.place.created_folders);
    return started.error();
  }
  spdlog::info(messages::command_run::kProgramStarted, started.value(), plan.program);
  const bool failed = failed_or_out_of_memory(
      program, [&] { return complete_recorded_run(options, plan, recording, program); });
  // Where memory failed the daemon is still ours to collect.
  recording.session.reset();
  end(options, program.wait_until_exit({}), failed);
}

/// What is given here would be forgotten by then.
support::Result<void> check_armed_options(const Options& options) {
  if (!options.session.armed) return {};
  const bool serves = !options.serve.empty() && !options.session.schedule.given;
  const char* what = options.session.schedule.given  ? messages::command_run::kTheSchedule
                     : !options.output.empty()       ? "-o"
                     : !options.summary_json.empty() ? "--summary-json"
                                                     : nullptr;
  if (what == nullptr) return {};
  if (serves) return error(fmt::format(messages::command_run::kServeWritesNoFile, what));
  return error(fmt::format(messages::command_run::kArmedRecordsNothing, what));
}

}  // namespace

support::Result<int> run_command(Options& options) {
  support::ignore_write_error_signals();
  const RunContext around = current_run_context();
  if (!options.summary_json.empty()) {
    options.summary_json = support::absolute_path(options.summary_json, around.working_folder);
  }
  // What the button asks for can be recorded while nothing else is.
  if (!options.serve.empty() && !options.session.schedule.given) options.session.armed = true;
  GPUPROF_CHECK(check_armed_options(options));
  GPUPROF_TRY(plan, make_run_plan(options, around));
  GPUPROF_CHECK(check_summary_file(options.summary_json, plan.place.folder));
  const bool preloadable = plan.facts.preloadable();
  if (!preloadable && !children_can_be_recorded(plan.facts.kind)) {
    return run_unrecorded(options, plan, around);
  }
  const std::string loader = preloadable && !plan.facts.interpreter.empty()
                                 ? plan.facts.interpreter
                                 : "/lib64/ld-linux-x86-64.so.2";
  GPUPROF_TRY(preload,
              PreloadPath::make(plan.installation, loader, runtime_folder(around.environment)));
  if (!preloadable && !preload.uses_lib_token()) {
    preload.remove();
    return run_unrecorded(options, plan, around);
  }
  auto result = options.session.armed ? run_armed(options, plan, around, preload)
                                      : run_recorded(options, plan, around, preload);
  preload.remove();
  return result;
}

}  // namespace gpuprof::cli
