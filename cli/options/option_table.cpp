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
    "Folder for the trace files, or a pattern for their names: %h host, %p process, %n "
    "window (0001, 0002, ...), %r rank, %q{ENV} variable, %% percent sign. A value with %n or %p, "
    "or that ends as files of a format do (@endings), is a pattern, and without --format chooses "
    "that format";

constexpr std::array kTable = {
    OptionRow{"-o,--output", "PATH", kOutput, kRecordingCommands, kOutputHelp,
              "./gpuprof/%h-YYYYmmdd-HHMMSS/", "file", set::output},
    OptionRow{"-o,--output", "PATH", kOutput, kExport, kOutputHelp,
              "of a spool where the session's own files were to go; of traces it must be given",
              "file", set::output},
    OptionRow{"-f,--force", "", kOutput, kRecordingCommands | kExport,
              "Overwrite existing files (an existing folder is fine without it)", "", "",
              set::force},
    OptionRow{"--format", "LIST", kOutput, kRecordingCommands | kExport,
              "Formats to write, separated by commas. @purposes", "tensorboard", "@formats",
              set::format},
    OptionRow{"--span-size", "N", kOutput, kRecordingCommands,
              "Events in a file when no schedule cuts (k and M are understood)", "200k", "",
              set::span_size},
    OptionRow{"--max-size", "BYTES", kOutput, kSourceCommands,
              "At this size of recorded data recording stops; the program goes on", "4GiB", "",
              set::max_size},
    OptionRow{"--keep", "WHICH", kOutput, kRecordingCommands,
              "Windows to keep: all, first:N or last:N", "all", "all first: last:", set::keep},
    OptionRow{"--all-processes,!--no-all-processes", "", kOutput, kRecordingCommands,
              "Write a file for every process, also launchers and helpers; --no-all-processes: for "
              "none of these, though it was named by number or name",
              "off", "", set::all_processes},
    OptionRow{"--summary-json", "FILE", kOutput, kRecordingCommands,
              "Write the summary as JSON to FILE", "", "file", set::summary_json},

    OptionRow{
        "--skip-first", "N", kWhen, kRecordingCommands,
        "Leave this much out once, at the beginning. Here and in the next three a bare number "
        "counts steps and a number with a unit (us ms s m) is time; the two do not mix",
        "0", "", set::skip_first},
    OptionRow{"--wait", "N", kWhen, kRecordingCommands, "Leave this much out before each window",
              "0", "", set::wait},
    OptionRow{"--warmup", "N", kWhen, kRecordingCommands,
              "Then record this much and throw it away, so that the window starts on time", "0", "",
              set::warmup},
    OptionRow{"--active", "N", kWhen, kRecordingCommands,
              "Then record this much: one window, one file for each process",
              "the whole run; of running processes 5s, once", "", set::active},
    OptionRow{"--repeat", "N", kWhen, kRecordingCommands,
              "Number of windows; 0: until the program ends",
              "0; of running processes 1, and 0 until Ctrl-C", "", set::repeat},
    OptionRow{"-y,--delay", "T", kWhen, kRecordingCommands,
              "The same as --wait T, T being a time (2s, 500ms)", "", "", set::delay},
    OptionRow{"-d,--duration", "T", kWhen, kRecordingCommands,
              "The same as --active T --repeat 1, T being a time (2s, 500ms)", "", "",
              set::duration},
    OptionRow{
        "--step", "SPEC", kWhen, kRecordingCommands,
        "What a step is: auto (the program's own, else the loop around the optimizer, else the "
        "main loop), user (torch.profiler's own steps), loop (an iteration of a Python loop "
        "found), loop:FILE:LINE (of the loop on that line), optimizer (ends with each), nvtx:NAME "
        "(a range of that name), kernel:REGEX (a kernel whose name matches) or none",
        "auto", "auto user loop loop: optimizer nvtx: kernel: none", set::step},
    OptionRow{
        "--on-no-step", "HOW", kWhen, kRecordingCommands,
        "What a schedule in steps records of a program that makes none: the first 5 s of work "
        "(time) or nothing (none)",
        "time", "time none", set::on_no_step},
    OptionRow{"--step-timeout", "T", kWhen, kRecordingCommands,
              "How long to wait for the first step", "30s", "", set::step_timeout},

    OptionRow{"-t,--trace", "LIST", kWhat, kSourceCommands,
              "Sources, separated by commas: cuda, nvtx, torch, python, native",
              "all that is there", "@trace", set::trace},
    OptionRow{"--record-shapes,!--no-record-shapes", "", kWhat, kSourceCommands,
              "Sizes, types and numbers that PyTorch's operators are called with", "on", "",
              set::record_shapes},
    OptionRow{"--with-stack,!--no-with-stack", "", kWhat, kSourceCommands,
              "The stack of each launch and the Python stack of each operator", "on", "",
              set::with_stack},
    OptionRow{"--with-modules,!--no-with-modules", "", kWhat, kSourceCommands,
              "The nn.Module each operator belongs to", "on", "", set::with_modules},
    OptionRow{"--profile-memory,!--no-profile-memory", "", kWhat, kSourceCommands,
              "What PyTorch's allocators take and give back", "on", "", set::profile_memory},
    OptionRow{"-r,--rate", "HZ", kWhat, kSourceCommands,
              "Stack samples a second of each running thread; at most 1000, 0: none", "100", "",
              set::rate},
    OptionRow{"--sampler", "HOW", kWhat, kSourceCommands,
              "What triggers samples: auto (perf, else cpu-timer), perf, cpu-timer or tgkill. "
              "tgkill can end system calls early (EINTR) and is never chosen by auto",
              "auto", "auto perf cpu-timer tgkill", set::sampler},
    OptionRow{"--cuda-graph", "HOW", kWhat, kSourceCommands,
              "Record CUDA graphs node by node (node) or as a whole (graph)", "node", "node graph",
              set::cuda_graph},
    OptionRow{"--buffer-size", "BYTES", kWhat, kSourceCommands,
              "Shared memory for one process, at most 64MiB", "by need", "", set::buffer_size},
    OptionRow{"--max-overhead", "P", kWhat, kSourceCommands,
              "Once gpuprof's own code takes more than this share of a thread's time (3%, say), "
              "record less, step by step, and say so; off: never",
              "off", "off", set::max_overhead},

    OptionRow{"--html", "FILE", kTables, kReport,
              "Write a page for a browser instead: one file with every table, flame graphs and a "
              "timeline of a few steps, which loads nothing from anywhere",
              "", "file", set::html},
    OptionRow{"-f,--force", "", kTables, kReport | kDiff,
              "Replace the page of --html if it is there", "", "", set::force},
    OptionRow{
        "--by", "TABLE", kTables, kReport,
        "Print this table: operator (as torch's key_averages()), kernel, kernel-name, memcpy, "
        "memset, api, nvtx, nccl, sync, thread, module, line, site, step, memory, gpu, wall or "
        "stretch",
        "an overview", "@tables", set::by},
    OptionRow{"--sort-by", "COLUMN", kTables, kReport,
              "Order of the rows. Of operators a key of PyTorch's tables: self_cpu_time_total, "
              "cpu_time_total, self_cuda_time_total, cuda_time_total, self_cpu_memory_usage, "
              "cpu_memory_usage, self_cuda_memory_usage, cuda_memory_usage, count, cpu_time, "
              "cuda_time; of other tables a column. Headings do as well, in any case",
              "the time that matters most", "", set::sort_by},
    OptionRow{"--group-by-input-shape", "", kTables, kReport,
              "Operators with inputs of other sizes have rows of their own", "", "",
              set::by_input_shape},
    OptionRow{"--group-by-stack", "N", kTables, kReport,
              "Operators called from other places have rows of their own: the innermost N frames "
              "count",
              "0", "", set::by_stack},
    OptionRow{"--columns", "LIST", kTables, kReport,
              "Columns to print, separated by commas; a wrong one is answered with all there are",
              "those that matter most", "", set::columns},
    OptionRow{"--row-limit", "N", kTables, kReport, "Rows to print at most",
              "100, of CSV and JSON all", "", set::row_limit},
    OptionRow{"--rank", "N", kTables, kReport, "Only this rank of a distributed run", "", "",
              set::rank},
    OptionRow{"--step", "N|A-B", kTables, kReport,
              "Only what began in this step, or in those from A to B", "", "", set::report_steps},
    OptionRow{"--advice-only", "", kTables, kReport,
              "Only what is slow, where in the program, and what to change (docs/advice.md)", "",
              "", set::advice_only},
    OptionRow{
        "--fail-on", "LIST", kTables, kReport,
        "Exit with 1 if one of these rules gives advice: names separated by commas (docs/advice.md "
        "lists them), or `any`",
        "", "@rules", set::fail_on},
    OptionRow{
        "--html", "FILE", kTables, kDiff,
        "Write a page for a browser instead: one file with what changed, both step curves and "
        "every table, which loads nothing from anywhere",
        "", "file", set::html},
    OptionRow{"--fail-if", "CONDITION", kTables, kDiff,
              "Exit with 1 if it holds; may be given several times. METRIC OP VALUE such as "
              "'step_time > +5%', 'operator:aten::mm > +10%', 'memory_peak > 8GiB' (docs/diff.md "
              "lists the metrics)",
              "", "", set::fail_if, true},
    OptionRow{"--min-change", "PERCENT", kTables, kDiff,
              "Claim no change of an operator, a kernel, memory or the step that is smaller", "5%",
              "", set::min_change},
    OptionRow{"--min-share", "PERCENT", kTables, kDiff,
              "Claim no change that is a smaller share of the step", "1%", "", set::min_share},
    OptionRow{"--row-limit", "N", kTables, kDiff,
              "Rows of each table that did not change to print at most", "10", "", set::row_limit},
    OptionRow{"--rank", "N", kTables, kDiff, "Only this rank of a distributed run", "", "",
              set::rank},
    OptionRow{"--csv", "", kTables, kReport, "Print CSV: times in ns, memory in bytes", "", "",
              set::csv},

    OptionRow{"-w,--wait-for", "WHOM", kGeneral, kRun,
              "The session ends with the command (primary) or with its last descendant (all)",
              "primary", "primary all", set::wait_for},
    OptionRow{"--name", "NAME", kGeneral, kRun,
              "A name for the session, also for `gpuprof capture NAME`", "", "", set::name},
    OptionRow{"--daemon", "PATH", kGeneral, kSourceCommands,
              "The gpuprofd to start, or the socket (path or @NAME) of one that runs with --listen",
              "the one beside gpuprof", "file", set::daemon},
    OptionRow{"--strict", "", kGeneral, kRun,
              "Exit with 125 if gpuprof itself failed although the program ran", "", "",
              set::strict},
    OptionRow{"-q,--quiet", "", kGeneral, kRecordingCommands | kExport,
              "No summary on stderr; failures are still told", "", "", set::quiet},
    OptionRow{"-q,--quiet", "", kGeneral, kReport | kDiff,
              "No progress on stderr; failures are still told", "", "", set::quiet},
    OptionRow{"-v,--verbose", "", kGeneral, kSourceCommands,
              "Say on stderr what gpuprof does, also while the program runs", "", "", set::verbose},
    OptionRow{"-v,--verbose", "", kGeneral, kExport | kReport | kDiff,
              "Say on stderr what gpuprof does", "", "", set::verbose},
    OptionRow{
        "--armed", "", kGeneral, kRun,
        "Record nothing until `gpuprof capture` asks for it; costs next to nothing until then", "",
        "", set::armed},
    OptionRow{
        "--serve", "ADDR", kGeneral, kRun,
        "Answer the Capture profile button of TensorBoard and xprof at HOST:PORT, [IPv6]:PORT "
        "or PORT (of 127.0.0.1). Without a schedule nothing else is recorded",
        "", "", set::serve},
    OptionRow{"--at", "ADDR", kGeneral, kServe,
              "Where to answer: HOST:PORT, [IPv6]:PORT or PORT (of 127.0.0.1)", "127.0.0.1:6009",
              "", set::at},
    OptionRow{"--serve-to-network", "", kGeneral, kRun | kServe,
              "Answer at an address that other machines reach, too: whoever does may record the "
              "program and read what comes of it, without a password",
              "", "", set::serve_to_network},
    OptionRow{"--try", "", kGeneral, kDoctor,
              "Record a small program with every source too, and a training where python3 has a "
              "PyTorch, and say what arrived",
              "", "", set::try_recording},
    OptionRow{"-p,--pid", "PID", kGeneral, kDoctor, "Look at this running process too", "", "",
              set::pid},
    OptionRow{"-p,--pid", "LIST", kGeneral, kAttach | kCapture | kStop | kDetach | kServe,
              "Processes, separated by commas; may be repeated", "", "", set::pids, true},
    OptionRow{"--children", "", kGeneral, kAttach | kCapture | kStop | kDetach,
              "Also the processes below them that run now", "", "", set::children},
    OptionRow{"--all", "", kGeneral, kCapture | kStop | kDetach | kServe,
              "Every process of yours that has gpuprof's library in it", "", "", set::all},
    OptionRow{"--stay", "", kGeneral, kAttach,
              "Leave the library waiting in the process afterwards, for `gpuprof capture`", "", "",
              set::stay},
    OptionRow{"--ignore-seccomp", "", kGeneral, kAttach,
              "Attach although a seccomp filter might end the process for what loading a library "
              "needs",
              "", "", set::ignore_seccomp},
    OptionRow{"--name", "NAME", kGeneral, kEnv,
              "A name by which `gpuprof capture NAME` finds the processes", "", "", set::name},
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
