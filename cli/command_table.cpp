// SPDX-License-Identifier: Apache-2.0
//
// The one list of commands.
//
// Context:  cli
#include "cli/command_table.hpp"

#include <fmt/format.h>

#include <array>

#include "cli/options/option_table.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

constexpr std::array kCommands = {
    CommandRow{"run", kRun, "run [OPTION...] [--] PROGRAM [ARGUMENT...]",
               "Run a program and record it",
               "Runs PROGRAM as it is and records what it does on GPU and CPU, without a change to "
               "its code. The first word that is no option is the program; everything after it "
               "belongs to the program. Nothing is written to stdout; the summary goes to stderr "
               "at the end. The exit status is the program's.",
               run_command},
    CommandRow{"attach", kAttach, "attach [OPTION...] PID...", "Record processes that run already",
               "Brings the library into running, unprepared processes, records one schedule (5 s "
               "where none is given; Ctrl-C ends it early), writes the files and takes everything "
               "out again but the library's own pages. A process that has the library already is "
               "recorded without that. The paths of the files are printed on stdout.",
               attach_command},
    CommandRow{"capture", kCapture, "capture [OPTION...] PID|NAME...",
               "Record processes that wait for it",
               "Records one schedule (5 s where none is given; Ctrl-C ends it early) of processes "
               "that have the library in them and are not recorded now: started by `gpuprof run "
               "--armed`, with the variables of `gpuprof env`, by a `gpuprof run` whose schedule "
               "is over, or left by `gpuprof attach --stay`. NAME is what --name said there. The "
               "paths of the files are printed on stdout.",
               capture_command},
    CommandRow{"status", kStatus, "status [OPTION...] [PID|NAME...]",
               "List processes with gpuprof in them",
               "Lists your processes that have the library in them, what each is doing, what it "
               "can record, and the CPU time of gpuprof's own thread (what the program's "
               "threads pay is not in it: docs/overhead.md).",
               status_command},
    CommandRow{"stop", kStop, "stop [OPTION...] PID|NAME...", "End a recording",
               "Ends the sessions that record these processes now; whoever started them writes the "
               "files. The processes go on.",
               stop_command},
    CommandRow{"detach", kDetach, "detach [OPTION...] PID|NAME...", "Take gpuprof out of processes",
               "Ends what is recorded of these processes and takes everything of gpuprof's out of "
               "them but the library's own pages. The processes go on.",
               detach_command},
    CommandRow{
        "serve", kServe, "serve [OPTION...] PID|NAME...", "Answer the Capture profile button",
        "Answers the Capture profile button of TensorBoard and xprof for processes that "
        "wait for `gpuprof capture`, until Ctrl-C: each time it is pressed they are recorded "
        "for as long as it says, and the profile goes to whoever pressed it. `gpuprof run "
        "--serve` does the same for one program.",
        serve_command},
    CommandRow{"env", kEnv, "env [OPTION...]", "Print variables for what cannot be wrapped",
               "Prints the environment variables that make a program started with them wait for "
               "`gpuprof capture`: for container images, notebooks and job files.",
               env_command},
    CommandRow{"report", kReport, "report [OPTION...] INPUT...", "Say what a recording comes to",
               "Reads a session's spool folder, or trace files of gpuprof, of torch.profiler or of "
               "Kineto and folders of them (several: ranks of one run), and prints what was "
               "recorded: where steps spent their time, the operators, kernels and lines that took "
               "most of it, and what is missing. With --by a whole table. Results go to stdout.",
               report_command},
    CommandRow{
        "diff", kDiff, "diff [OPTION...] BEFORE AFTER [BEFORE2 AFTER2...]",
        "Say what changed between two recordings",
        "Compares two recordings, each whatever `gpuprof report` takes: steps, operators, "
        "kernels and memory, with the noise from step to step, and claims only what that and "
        "the machine do not explain. A time on the host that one process may take by itself is "
        "shown and not claimed; with three pairs of recordings, in the order they were made, "
        "what every pair shows is. Exit status 0: no condition of --fail-if holds, 1: one "
        "holds, 2: there is nothing that can be compared.",
        diff_command},
    CommandRow{
        "export", kExport, "export [OPTION...] TRACE...|SPOOL",
        "Write a recording in other formats",
        "Reads trace files (ours or PyTorch's own), a folder of them, or the spool folder "
        "of a session (.gpuprof-spool-...), also when its daemon or the machine went down in "
        "between, and writes files of the formats asked for. Their paths are printed on "
        "stdout.",
        export_command},
    CommandRow{"doctor", kDoctor, "doctor [OPTION...]", "Say what this machine can and cannot do",
               "Looks at the driver, CUPTI, perf events, Python interpreters and limits of this "
               "machine, and says what gpuprof can record here and why not the rest. Exit status "
               "0: runs can be recorded, 1: they cannot, or something that --try asked for did not "
               "arrive.",
               doctor_command},
    CommandRow{"help", kHelp, "help [COMMAND]", "Explain a command",
               "Lists the commands, or explains one of them and its options.", help_command},
};

}  // namespace

std::span<const CommandRow> command_table() { return kCommands; }

const CommandRow* find_command(const std::string& name) {
  for (const CommandRow& row : kCommands) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

support::Error unknown_command(const std::string& name) {
  std::vector<std::string> known;
  for (const CommandRow& row : command_table()) known.emplace_back(row.name);
  return support::error(
      fmt::format("there is no command {}{}; `gpuprof help` lists them, and a program is "
                  "started with `gpuprof run PROGRAM`",
                  support::in_quotes(name), support::did_you_mean(name, known)));
}

}  // namespace gpuprof::cli
