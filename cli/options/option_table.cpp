// SPDX-License-Identifier: Apache-2.0
//
// The one list of options: parsing, help, the manual page and the completions are made from it.
//
// Context:  cli
#include "cli/options/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/commands/formats.hpp"
#include "analysis/commands/report_session.hpp"
#include "cli/options/setters.hpp"

namespace gpuprof::cli {
namespace {

constexpr char kOutput[] = "Output";
constexpr char kWhen[] = "When to record";
constexpr char kWhat[] = "What to record";
constexpr char kTables[] = "Tables";
constexpr char kGeneral[] = "General";

constexpr char kOutputHelp[] =
    "Folder for the trace files, or a pattern for their names: %h host, %p process id, %n window "
    "(0001, 0002, ...), %r rank, %q{ENV} environment variable, %% percent sign. A value that "
    "contains %n or %p, or ends in a suffix of a format (@endings), is a pattern; without "
    "--format, the suffix selects the format";

constexpr std::array kTable = {
    OptionRow{"-o,--output", "PATH", kOutput, kRecordingCommands, kOutputHelp,
              "./gpuprof/%h-YYYYmmdd-HHMMSS/", "file", set::output},
    OptionRow{"-o,--output", "PATH", kOutput, kExport, kOutputHelp,
              "for a spool the output of its session; required for traces", "file", set::output},
    OptionRow{"-f,--force", "", kOutput, kRecordingCommands | kExport,
              "Overwrite existing files (an existing folder is accepted without it)", "", "",
              set::force},
    OptionRow{"--format", "LIST", kOutput, kRecordingCommands | kExport,
              "Formats to write, separated by commas. @purposes", "tensorboard", "@formats",
              set::format},
    OptionRow{"--span-size", "N", kOutput, kRecordingCommands,
              "Without a schedule, begin a new file after this many events (suffixes k and M)",
              "200k", "", set::span_size},
    OptionRow{"--max-size", "BYTES", kOutput, kSourceCommands,
              "Stop recording at this size of recorded data; the program continues", "4GiB", "",
              set::max_size},
    OptionRow{"--keep", "WHICH", kOutput, kRecordingCommands,
              "Windows to keep: all, first:N or last:N", "all", "all first: last:", set::keep},
    OptionRow{"--all-processes,!--no-all-processes", "", kOutput, kRecordingCommands,
              "Write a file for every process, also for launchers and helpers; --no-all-processes: "
              "for none of these, even if named by process id or name",
              "off", "", set::all_processes},
    OptionRow{"--summary-json", "FILE", kOutput, kRecordingCommands,
              "Write the summary as JSON to FILE", "", "file", set::summary_json},

    OptionRow{"--skip-first", "N", kWhen, kRecordingCommands,
              "Skip this much once, at the beginning. For this option and the next three, a number "
              "without a unit counts steps and a number with a unit (us ms s m) is a time; the two "
              "cannot be mixed",
              "0", "", set::skip_first},
    OptionRow{"--wait", "N", kWhen, kRecordingCommands, "Skip this much before each window", "0",
              "", set::wait},
    OptionRow{"--warmup", "N", kWhen, kRecordingCommands,
              "Then record this much and discard it, so that the window begins on time", "0", "",
              set::warmup},
    OptionRow{"--active", "N", kWhen, kRecordingCommands,
              "Then record this much: one window, with one file for each process",
              "the whole run; 5s for running processes", "", set::active},
    OptionRow{
        "--repeat", "N", kWhen, kRecordingCommands,
        "Number of windows; 0: until the program ends or, for running processes, until Ctrl-C",
        "0; 1 for running processes", "", set::repeat},
    OptionRow{"-y,--delay", "T", kWhen, kRecordingCommands,
              "The same as --wait T, where T is a time (2s, 500ms)", "", "", set::delay},
    OptionRow{"-d,--duration", "T", kWhen, kRecordingCommands,
              "The same as --active T --repeat 1, where T is a time (2s, 500ms)", "", "",
              set::duration},
    OptionRow{
        "--step", "SPEC", kWhen, kRecordingCommands,
        "What a step is: auto (the program's own steps, else the loop around the optimizer, else "
        "the main loop), user (the steps of the program's torch.profiler), loop (an iteration of a "
        "Python loop that gpuprof finds), loop:FILE:LINE (an iteration of the loop on that line), "
        "optimizer (up to the end of each optimizer step), nvtx:NAME (a range of that name), "
        "kernel:REGEX (from one launch of a matching kernel to the next) or none",
        "auto", "auto user loop loop: optimizer nvtx: kernel: none", set::step},
    OptionRow{"--on-no-step", "HOW", kWhen, kRecordingCommands,
              "What a schedule in steps records of a program without steps: the first 5 s of work "
              "(time) or nothing (none)",
              "time", "time none", set::on_no_step},
    OptionRow{"--step-timeout", "T", kWhen, kRecordingCommands,
              "How long to wait for the first step", "30s", "", set::step_timeout},

    OptionRow{"-t,--trace", "LIST", kWhat, kSourceCommands,
              "Sources to record, separated by commas: cuda, nvtx, torch, python, native",
              "all available", "@trace", set::trace},
    OptionRow{"--record-shapes,!--no-record-shapes", "", kWhat, kSourceCommands,
              "Record shapes, types and values of the inputs of PyTorch's operators", "on", "",
              set::record_shapes},
    OptionRow{"--with-stack,!--no-with-stack", "", kWhat, kSourceCommands,
              "Record the stack of each launch and the Python stack of each operator", "on", "",
              set::with_stack},
    OptionRow{"--with-modules,!--no-with-modules", "", kWhat, kSourceCommands,
              "Record the nn.Module that each operator belongs to", "on", "", set::with_modules},
    OptionRow{"--profile-memory,!--no-profile-memory", "", kWhat, kSourceCommands,
              "Record the memory that PyTorch's allocators allocate and free", "on", "",
              set::profile_memory},
    OptionRow{"-r,--rate", "HZ", kWhat, kSourceCommands,
              "Stack samples per second of each running thread, at most 1000; 0: none", "100", "",
              set::rate},
    OptionRow{"--sampler", "HOW", kWhat, kSourceCommands,
              "What triggers samples: auto (perf, else cpu-timer), perf, cpu-timer or tgkill. "
              "tgkill can end system calls early (EINTR) and is never selected by auto",
              "auto", "auto perf cpu-timer tgkill", set::sampler},
    OptionRow{"--cuda-graph", "HOW", kWhat, kSourceCommands,
              "Record CUDA graphs node by node (node) or as a whole (graph)", "node", "node graph",
              set::cuda_graph},
    OptionRow{"--buffer-size", "BYTES", kWhat, kSourceCommands,
              "Shared memory for the ring buffers of one process, from 1MiB to 64MiB", "as needed",
              "", set::buffer_size},
    OptionRow{"--max-overhead", "P", kWhat, kSourceCommands,
              "Share of a thread's time (such as 3%) above which gpuprof records less, one kind of "
              "data after another, and reports it; off: no limit",
              "off", "off", set::max_overhead},

    OptionRow{"--html", "FILE", kTables, kReport,
              "Write an HTML page instead: one file without external resources, with every table, "
              "flame graphs and a timeline of a few steps",
              "", "file", set::html},
    OptionRow{"-f,--force", "", kTables, kReport | kDiff,
              "Overwrite the file of --html if it exists", "", "", set::force},
    OptionRow{
        "--by", "TABLE", kTables, kReport,
        "Print this table: operator (as PyTorch's key_averages()), kernel, kernel-name, memcpy, "
        "memset, api, nvtx, nccl, sync, thread, module, line, site, step, memory, gpu, wall or "
        "stretch",
        "an overview", "@tables", set::by},
    OptionRow{
        "--sort-by", "COLUMN", kTables, kReport,
        "Column to sort by. For operators a sort key of PyTorch: self_cpu_time_total, "
        "cpu_time_total, self_cuda_time_total, cuda_time_total, self_cpu_memory_usage, "
        "cpu_memory_usage, self_cuda_memory_usage, cuda_memory_usage, count, cpu_time, "
        "cuda_time; for other tables a column. Headings are accepted, too, in upper or lower case",
        "the most important time", "", set::sort_by},
    OptionRow{"--group-by-input-shape", "", kTables, kReport,
              "Separate rows for operators with different input shapes", "", "",
              set::by_input_shape},
    OptionRow{"--group-by-stack", "N", kTables, kReport,
              "Separate rows for operators called from different places; the innermost N frames "
              "are compared",
              "0", "", set::by_stack},
    OptionRow{"--columns", "LIST", kTables, kReport,
              "Columns to print, separated by commas; the error for an unknown name lists all",
              "the most important ones", "", set::columns},
    OptionRow{"--row-limit", "N", kTables, kReport, "Maximum number of rows",
              "100; all for CSV and JSON", "", set::row_limit},
    OptionRow{"--rank", "N", kTables, kReport, "Only this rank of a distributed run", "", "",
              set::rank},
    OptionRow{"--step", "N|A-B", kTables, kReport,
              "Only what began in step N, or in the steps from A to B", "", "", set::report_steps},
    OptionRow{"--advice-only", "", kTables, kReport,
              "Print only the advice: what is slow, where in the program, and what to change "
              "(docs/advice.md)",
              "", "", set::advice_only},
    OptionRow{
        "--fail-on", "LIST", kTables, kReport,
        "Exit with 1 if one of these rules gives advice: names separated by commas (docs/advice.md "
        "lists them), or `any`",
        "", "@rules", set::fail_on},
    OptionRow{"--html", "FILE", kTables, kDiff,
              "Write an HTML page instead: one file without external resources, with what changed, "
              "the step times of both recordings and every table",
              "", "file", set::html},
    OptionRow{"--fail-if", "CONDITION", kTables, kDiff,
              "Exit with 1 if this condition holds; may be repeated. METRIC OP VALUE such as "
              "'step_time > +5%', 'operator:aten::mm > +10%', 'memory_peak > 8GiB' (docs/diff.md "
              "lists the metrics)",
              "", "", set::fail_if, true},
    OptionRow{
        "--min-change", "PERCENT", kTables, kDiff,
        "Smallest change of an operator, a kernel, memory or the step that counts as significant",
        "5%", "", set::min_change},
    OptionRow{"--min-share", "PERCENT", kTables, kDiff,
              "Smallest share of the step that a significant change must have", "1%", "",
              set::min_share},
    OptionRow{"--row-limit", "N", kTables, kDiff,
              "Maximum number of rows without a reported change in each table", "10", "",
              set::row_limit},
    OptionRow{"--rank", "N", kTables, kDiff, "Only this rank of a distributed run", "", "",
              set::rank},
    OptionRow{"--csv", "", kTables, kReport, "Print CSV, with times in ns and memory in bytes", "",
              "", set::csv},

    OptionRow{"-w,--wait-for", "WHOM", kGeneral, kRun,
              "End the session with the program (primary) or with its last descendant (all)",
              "primary", "primary all", set::wait_for},
    OptionRow{"--name", "NAME", kGeneral, kRun,
              "Name of the session, by which `gpuprof capture NAME` and other commands find its "
              "processes",
              "", "", set::name},
    OptionRow{"--daemon", "PATH", kGeneral, kSourceCommands,
              "The gpuprofd to start, or the socket (path or @NAME) of one that runs with --listen",
              "the one beside gpuprof", "file", set::daemon},
    OptionRow{"--strict", "", kGeneral, kRun,
              "Exit with 125 if gpuprof itself failed, even if the program ran", "", "",
              set::strict},
    OptionRow{"-q,--quiet", "", kGeneral, kRecordingCommands | kExport,
              "Print no progress and no summary on stderr; failures are still reported", "", "",
              set::quiet},
    OptionRow{"-q,--quiet", "", kGeneral, kReport | kDiff,
              "Print no progress and no notes on stderr; failures are still reported", "", "",
              set::quiet},
    OptionRow{"-v,--verbose", "", kGeneral, kSourceCommands,
              "Log on stderr what gpuprof does, also while the program runs", "", "", set::verbose},
    OptionRow{"-v,--verbose", "", kGeneral, kExport | kReport | kDiff,
              "Log on stderr what gpuprof does", "", "", set::verbose},
    OptionRow{
        "--armed", "", kGeneral, kRun,
        "Record nothing until `gpuprof capture` requests it; until then the overhead is negligible",
        "", "", set::armed},
    OptionRow{"--serve", "ADDR", kGeneral, kRun,
              "Serve the Capture profile button of TensorBoard and xprof at HOST:PORT, [IPv6]:PORT "
              "or PORT (of 127.0.0.1). Without a schedule, nothing else is recorded",
              "", "", set::serve},
    OptionRow{"--at", "ADDR", kGeneral, kServe,
              "Address to listen at: HOST:PORT, [IPv6]:PORT or PORT (of 127.0.0.1)",
              "127.0.0.1:6009", "", set::at},
    OptionRow{"--serve-to-network", "", kGeneral, kRun | kServe,
              "Allow an address that other machines can reach. They can then record the program "
              "and read the profile, without a password",
              "", "", set::serve_to_network},
    OptionRow{"--try", "", kGeneral, kDoctor,
              "Also record a small program with every source, and a training if python3 has "
              "PyTorch, and report what was recorded",
              "", "", set::try_recording},
    OptionRow{"-p,--pid", "PID", kGeneral, kDoctor, "Also check this running process", "", "",
              set::pid},
    OptionRow{"-p,--pid", "LIST", kGeneral, kAttach | kCapture | kStop | kDetach | kServe,
              "Process ids, separated by commas; may be repeated", "", "", set::pids, true},
    OptionRow{"--children", "", kGeneral, kAttach | kCapture | kStop | kDetach,
              "Include all descendants that are running now", "", "", set::children},
    OptionRow{"--all", "", kGeneral, kCapture | kStop | kDetach | kServe,
              "All your processes that have the gpuprof library", "", "", set::all},
    OptionRow{"--stay", "", kGeneral, kAttach,
              "Leave the library armed in the process afterwards, for `gpuprof capture`", "", "",
              set::stay},
    OptionRow{"--ignore-seccomp", "", kGeneral, kAttach,
              "Attach even if the process has a seccomp filter, which may end it for the system "
              "calls that loading a library needs",
              "", "", set::ignore_seccomp},
    OptionRow{"--name", "NAME", kGeneral, kEnv,
              "Name by which `gpuprof capture NAME` and other commands find the processes", "", "",
              set::name},
    OptionRow{"--shell", "", kGeneral, kEnv, "Print export commands for a shell", "", "",
              set::shell},
    OptionRow{"--json", "", kGeneral, kDoctor | kStatus | kEnv | kReport | kDiff, "Print JSON", "",
              "", set::json},
    OptionRow{"-h,--help", "", kGeneral, kAllCommands, "Print this help", "", "", set::help},
};

}  // namespace

std::span<const OptionRow> option_table() { return kTable; }

std::string option_help(const OptionRow& row) {
  std::string text = row.help;
  const auto put = [&](std::string_view mark, const auto& words) {
    if (const std::size_t at = text.find(mark); at != std::string::npos)
      text.replace(at, mark.size(), words());
  };
  put("@endings", [] { return support::join(commands::format_suffixes(), " "); });
  put("@purposes", [] {
    std::vector<std::string> each;
    for (const auto& [name, purpose] : commands::format_purposes())
      each.push_back(purpose.empty() ? name : fmt::format("{} (for {})", name, purpose));
    return support::join(each, ", ");
  });
  return text;
}

std::vector<std::string> option_names(const OptionRow& row) {
  std::vector<std::string> names = support::split(row.names, ',');
  for (std::string& name : names)
    if (name.front() == '!') name.erase(0, 1);
  return names;
}

const OptionRow* find_option(const std::string& name, unsigned command) {
  for (const OptionRow& row : kTable) {
    if ((row.commands & command) == 0) continue;
    const std::vector<std::string> names = option_names(row);
    if (std::find(names.begin(), names.end(), name) != names.end()) return &row;
  }
  return nullptr;
}

std::string completion_values(const OptionRow& row) {
  const std::string words = row.completion;
  if (words == "@tables") return support::join(commands::report_tables(), " ");
  if (words == "@rules") return "any " + support::join(commands::advice_rules(), " ");
  if (words == "@formats") return support::join(commands::format_names(), " ");
  if (words == "@trace") return set::trace_source_names();
  return words;
}

}  // namespace gpuprof::cli
