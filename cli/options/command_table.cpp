// SPDX-License-Identifier: Apache-2.0
//
// The one list of commands.
//
// Context:  cli
#include "cli/options/command_table.hpp"

#include <fmt/format.h>

#include <array>

#include "cli/messages/options_parse.hpp"
#include "cli/options/option_table.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

constexpr std::array kCommands = {
    CommandRow{"run", kRun, "run [OPTION...] [--] PROGRAM [ARGUMENT...]",
               "Run a program and record it",
               "Runs PROGRAM unmodified and records what it does on the GPU and the CPU. The first "
               "word that is not an option is the program; everything after it belongs to the "
               "program. gpuprof writes nothing to stdout; its summary goes to stderr at the end. "
               "The exit status is that of the program.",
               run_command},
    CommandRow{"attach", kAttach, "attach [OPTION...] PID...", "Record running processes",
               "Injects the gpuprof library into running, unprepared processes, records one "
               "schedule (5 s if none is given; Ctrl-C ends it early), writes the files and "
               "detaches: only the pages of the library stay in them. A process that already has "
               "the library is recorded without injection. The paths of the files are printed on "
               "stdout.",
               attach_command},
    CommandRow{
        "capture", kCapture, "capture [OPTION...] PID|NAME...", "Record armed processes",
        "Records one schedule (5 s if none is given; Ctrl-C ends it early) of armed processes, "
        "that is, of processes that have the library and are not being recorded: started by "
        "`gpuprof run --armed` or with the variables of `gpuprof env`, started by a `gpuprof run` "
        "whose schedule has ended, or left armed by `gpuprof attach --stay`. NAME is the value of "
        "--name there. The paths of the files are printed on stdout.",
        capture_command},
    CommandRow{
        "status", kStatus, "status [OPTION...] [PID|NAME...]",
        "List processes that have the gpuprof library",
        "Lists your processes that have the gpuprof library: their state, steps and dropped "
        "records, the CPU time of gpuprof's worker thread as a share of one processor (the "
        "overhead in the program's threads is not included: docs/overhead.md), and what can be "
        "recorded.",
        status_command},
    CommandRow{"stop", kStop, "stop [OPTION...] PID|NAME...", "End a recording",
               "Ends the sessions that are recording these processes; the commands that started "
               "the sessions write the files. The processes continue.",
               stop_command},
    CommandRow{"detach", kDetach, "detach [OPTION...] PID|NAME...", "Detach gpuprof from processes",
               "Ends the recording of these processes and removes everything of gpuprof from them "
               "except the pages of the library. The processes continue.",
               detach_command},
    CommandRow{"serve", kServe, "serve [OPTION...] PID|NAME...",
               "Serve the Capture profile button of TensorBoard",
               "Serves the Capture profile button of TensorBoard and xprof for armed processes, "
               "until Ctrl-C: each time the button is pressed, gpuprof records them for the "
               "requested time and sends the profile to the client that pressed it. `gpuprof run "
               "--serve` does the same for one program.",
               serve_command},
    CommandRow{"env", kEnv, "env [OPTION...]", "Print environment variables that arm a program",
               "Prints the environment variables that arm a program for `gpuprof capture` if "
               "`gpuprof run` cannot start it: for container images, notebooks and job files.",
               env_command},
    CommandRow{"report", kReport, "report [OPTION...] INPUT...", "Summarise a recording",
               "Reads trace files of gpuprof, torch.profiler or Kineto, folders of them (several: "
               "the ranks of one run), or the spool folder of a session. Prints where steps spent "
               "their time, which operators, kernels and lines took most of it, what to change, "
               "and what is missing; with --by, one whole table. Results go to stdout.",
               report_command},
    CommandRow{
        "diff", kDiff, "diff [OPTION...] BEFORE AFTER [BEFORE2 AFTER2...]",
        "Compare two recordings",
        "Compares the steps, operators, kernels and memory of two recordings, each anything that "
        "`gpuprof report` takes. Only changes that neither the noise from step to step nor the "
        "machine explains are reported as significant. A change of host time that one process may "
        "show by itself is listed as unconfirmed; three pairs of recordings, in the order in which "
        "they were made, decide whether it is significant. Exit status 0: no condition of "
        "--fail-if holds, 1: one holds, 2: the recordings cannot be compared.",
        diff_command},
    CommandRow{"export", kExport, "export [OPTION...] TRACE...|SPOOL",
               "Write a recording in other formats",
               "Reads trace files of gpuprof or PyTorch, a folder of them, or the spool folder of "
               "a session (.gpuprof-spool-...), even if its daemon or the machine has crashed, and "
               "writes files in the requested formats. Their paths are printed on stdout.",
               export_command},
    CommandRow{
        "doctor", kDoctor, "doctor [OPTION...]", "Check what this machine can record",
        "Checks the driver, CUPTI, perf events, Python interpreters and limits of this machine, "
        "and reports what gpuprof can record here and why it cannot record the rest. Exit status "
        "0: runs can be recorded, 1: they cannot, or some of the work of --try was not recorded.",
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
  return support::error(fmt::format(messages::options_parse::kUnknownCommand,
                                    support::in_quotes(name), support::did_you_mean(name, known)));
}

}  // namespace gpuprof::cli
