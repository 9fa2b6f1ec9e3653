// SPDX-License-Identifier: Apache-2.0
//
// The one list of commands.
//
// Context:  cli
#include "cli/commands.hpp"

#include <algorithm>
#include <array>

#include "cli/option_table.hpp"

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
    CommandRow{"export", kExport, "export [OPTION...] SPOOL",
               "Write trace files from what a session left behind",
               "Writes the trace files of a session from its spool folder (.gpuprof-spool-...), "
               "also when the daemon or the machine went down in between. The paths of the files "
               "are printed on stdout.",
               export_command},
    CommandRow{"doctor", kDoctor, "doctor [OPTION...]", "Say what this machine can and cannot do",
               "Looks at the driver, CUPTI, perf events, Python interpreters and limits of this "
               "machine, and says what gpuprof can record here and why not the rest. Exit status "
               "0: runs can be recorded, 1: they cannot.",
               doctor_command},
    CommandRow{"help", kHelp, "help [COMMAND]", "Explain a command",
               "Lists the commands, or explains one of them and its options.", help_command},
};

constexpr const char* kLater[] = {"status",  "stop", "detach", "attach",
                                  "capture", "env",  "report", "diff"};

}  // namespace

std::span<const CommandRow> command_table() { return kCommands; }

const CommandRow* find_command(const std::string& name) {
  for (const CommandRow& row : kCommands) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

bool is_later_command(const std::string& name) {
  return std::find(std::begin(kLater), std::end(kLater), name) != std::end(kLater);
}

}  // namespace gpuprof::cli
