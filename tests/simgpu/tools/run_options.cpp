// SPDX-License-Identifier: Apache-2.0
//
// Option table of gpusim-run.
//
// Context:  tools
// Owns:     nothing
// Promises: see run_options.hpp
#include "tools/run_options.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/scenarios.hpp"
#include "tools/option_values.hpp"
#include "tools/say.hpp"

namespace gpusim {
namespace {

struct Row {
  const char* option;
  const char* argument;
  const char* variable;
  Form form;
  const char* limits;
  const char* help;
};

constexpr Row kRows[] = {
    {"--devices", "N", "GPUSIM_DEVICES", Form::kWhole, "0-16", "simulated devices, 0 to 16 (2)"},
    {"--model", "NAME", "GPUSIM_MODEL", Form::kChoice, "h100,a100,v100",
     "h100, a100 or v100 (h100)"},
    {"--memory", "SIZE", "GPUSIM_MEMORY", Form::kSize, "",
     "memory of each device: bytes, KiB MiB GiB, K M G (the model's, or what this\n"
     "machine can bear if that is less)"},
    {"--time-scale", "X", "GPUSIM_TIME_SCALE", Form::kFactor, "",
     "multiplies every device duration (1)"},
    {"--api-cost", "TIME", "GPUSIM_API_COST_NS", Form::kTime, "",
     "CPU time spent in each API call (2us)"},
    {"--kernel-time", "TIME", "GPUSIM_KERNEL_NS", Form::kTime, "",
     "every kernel lasts this long (timing model)"},
    {"--data", "POLICY", "GPUSIM_DATA", Form::kChoice, "copy,zero",
     "copy: round trips keep their data; zero: device writes of 256 bytes and more\n"
     "are dropped (PyTorch: zero, else copy)"},
    {"--layout", "V", "GPUSIM_LAYOUT", Form::kChoice, "11.8,12.4,12.9,13.0,13.2,future",
     "emulated CUDA release: 11.8 12.4 12.9 13.0 13.2 future (PyTorch: the nearest\n"
     "to its CUDA, else 13.0)"},
    {"--cupti", "STATE", "GPUSIM_CUPTI", Form::kChoice, "one,per-client",
     "one: all clients share CUPTI's state, the last writer wins, as in the real\n"
     "library; per-client: each calling library has its own (one)"},
    {"--truth", "FILE", "GPUSIM_TRUTH", Form::kPath, "",
     "write what really happened as JSON lines; %p = process id"},
    {"--log", "FILE", "GPUSIM_LOG", Form::kPath, "",
     "write every CUPTI call of the client as JSON lines; %p = process id"},
    {"--log-all", "", "GPUSIM_LOG_ALL", Form::kFlag, "",
     "the call log includes per-record and timestamp calls"},
    {"--slot-taken", "NAME", "GPUSIM_SLOT_TAKEN", Form::kText, "",
     "NAME holds CUPTI's profiler slot; subscribing gives 39"},
    {"--scenario", "LIST", "GPUSIM_SCENARIO", Form::kScenarioList, "",
     "awkward behaviours, NAME[:ARG],...; see --list-scenarios"},
    {"--errors", "LIST", "GPUSIM_ERRORS", Form::kErrorList, "",
     "CUPTI calls fail: FUNCTION:NTH:CODE,...; NTH is N, N+ or *"},
    {"--correlation-start", "N", "GPUSIM_CORRELATION_START", Form::kWhole, "0-4294967295",
     "first correlation id (1)"},
    {"--device-buffers", "N", "GPUSIM_DEVICE_BUFFERS", Form::kWhole, "1-1000000",
     "device buffers that CUPTI says a context may have (250)"},
    {"--quiet", "", "GPUSIM_QUIET", Form::kFlag, "", "no line on stderr at first device use"},
};

struct OwnRow {
  const char* words;
  const char* help;
};
constexpr OwnRow kOwnRows[] = {
    {"--pytorch WHEN",
     "auto: a Python that has PyTorch gets simulated libraries by LD_PRELOAD; yes: so does\n"
     "any program, for shell scripts that start PyTorch; no: none does (auto)"},
    {"--preload", "also put the driver and CUPTI into LD_PRELOAD, for a program with an RPATH"},
    {"--missing LIST", "CUPTI symbols that really cannot be found"},
    {"--stub", "libcuda.so.1 is a toolkit's stub in a folder named stubs"},
    {"--no-driver", "there is no libcuda.so.1"},
    {"--no-cupti", "there is no libcupti (not for PyTorch)"},
    {"--print-env", "print the variables instead of starting the program"},
    {"--list-scenarios", "print the scenarios"},
    {"-h, --help", "print this"},
};

constexpr const char* kHelpHead =
    "gpusim-run [options] [--] program [arguments]\n"
    "\n"
    "Runs an unmodified program on the simulated GPU of gpuprof's tests: nothing is computed, all "
    "times\n"
    "are invented. What LD_LIBRARY_PATH and LD_PRELOAD hold is kept; the program's children "
    "inherit all.\n";
constexpr const char* kHelpTail =
    "\n"
    "A program with PyTorch is found by its name (python3, torchrun, a script with a Python first "
    "line),\n"
    "also behind others: gpusim-run -- gpuprof run -- python3 train.py. Its PyTorch must be the "
    "one "
    "that\n"
    "the simulated GPU was built for.\n"
    "Exit status: the program's own; 125 gpusim-run cannot do what was asked, 126 the program is "
    "not\n"
    "executable, 127 it was not found.\n";

void print_row(const std::string& words, const std::string& help) {
  std::printf("  %-22s ", words.c_str());
  for (const char c : help) {
    std::putchar(c);
    if (c == '\n') std::printf("%25s", "");
  }
  std::putchar('\n');
}

[[noreturn]] void print_help() {
  std::puts(kHelpHead);
  for (const Row& r : kRows)
    print_row(std::string(r.option) + (*r.argument != '\0' ? " " : "") + r.argument, r.help);
  for (const OwnRow& r : kOwnRows) print_row(r.words, r.help);
  std::fputs(kHelpTail, stdout);
  std::exit(0);
}

[[noreturn]] void print_scenarios() {
  for (const ScenarioInfo& s : kScenarios)
    std::printf("%-28s %-6lld %s\n", s.name, static_cast<long long>(s.default_argument), s.help);
  std::exit(0);
}

bool own_flag(RunOptions& o, const std::string& option) {
  if (option == "--stub") return o.stub = true;
  if (option == "--no-driver") return o.no_driver = true;
  if (option == "--no-cupti") return o.no_cupti = true;
  if (option == "--preload") return o.preload = true;
  if (option == "--print-env") return o.print_environment = true;
  if (option == "--help" || option == "-h") print_help();
  if (option == "--list-scenarios") print_scenarios();
  return false;
}

bool table_flag(RunOptions& o, const std::string& option) {
  for (const Row& r : kRows) {
    if (r.form != Form::kFlag || option != r.option) continue;
    o.set(r.variable, "1");
    return true;
  }
  return false;
}

bool own_option(RunOptions& o, const std::string& option, const char* value) {
  if (option == "--missing") {
    for (const std::string& symbol : comma_separated(value)) o.missing.push_back(symbol);
    return true;
  }
  if (option != "--pytorch") return false;
  const std::string when = value_of("--pytorch", Form::kChoice, "auto,yes,no", value);
  o.pytorch = when == "auto" ? Pytorch::kAuto : when == "yes" ? Pytorch::kYes : Pytorch::kNo;
  return true;
}

const Row* row_of(const std::string& option) {
  for (const Row& r : kRows)
    if (option == r.option) return &r;
  return nullptr;
}

/// A log that cannot be written would be missed when the program has ended.
void check_log(const char* option, const char* typed, const std::string& path) {
  struct stat about {};
  const bool there = stat(path.c_str(), &about) == 0;
  if (there && !S_ISREG(about.st_mode))
    fail(std::string(option) + ": '" + typed +
         "' is no plain file, and the log is written through a mapping; give a file");
  // %p is known in the program only.
  const bool pattern = path.find("%p") != std::string::npos;
  const bool folder_is_there =
      access(path.substr(0, path.rfind('/') + 1).c_str(), pattern ? W_OK | X_OK : F_OK) == 0;
  const int file = pattern || !folder_is_there
                       ? -1
                       : open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
  const int problem = errno;
  if (file >= 0) close(file);
  // A program takes another name if it finds the file there.
  if (file >= 0 && !there) unlink(path.c_str());
  if (file >= 0 || (pattern && folder_is_there)) return;
  fail(std::string(option) + ": '" + typed + "' cannot be written: " + std::strerror(problem) +
       "; give a file in a folder that can be written");
}

void option_with_value(RunOptions& o, const std::string& option, const char* value) {
  const Row* row = row_of(option);
  if (row == nullptr && option != "--missing" && option != "--pytorch")
    fail("there is no option '" + option + "': see gpusim-run --help");
  if (value == nullptr) fail(option + " needs a value: see gpusim-run --help");
  if (own_option(o, option, value)) return;
  o.set(row->variable, value_of(row->option, row->form, row->limits, value));
  if (row->form != Form::kPath) return;
  check_log(row->option, value, o.variable(row->variable));
  unlink(o.variable(row->variable).c_str());
}

/// Variables from the environment are held against the same rules as options.
void check_inherited(RunOptions& o) {
  for (const Row& r : kRows) {
    const char* value = std::getenv(r.variable);
    if (value == nullptr || *value == '\0' || o.sets(r.variable)) continue;
    if (r.form == Form::kSize && std::strcmp(value, "0") == 0) continue;  // as if not set
    if (r.form == Form::kFlag) {
      value_of(r.variable, Form::kWhole, "0-1", value);
      continue;
    }
    const std::string understood = value_of(r.variable, r.form, r.limits, value);
    // Otherwise it stays the environment's and no option's.
    if (understood != value) o.set(r.variable, understood);
    if (r.form == Form::kPath) check_log(r.variable, value, o.variable(r.variable));
  }
}

}  // namespace

std::string RunOptions::variable(const char* name) const {
  for (const auto& [known, value] : environment)
    if (known == name) return value;
  const char* inherited = std::getenv(name);
  return inherited != nullptr ? inherited : "";
}

bool RunOptions::sets(const std::string& name) const {
  for (const auto& [known, value] : environment)
    if (known == name) return true;
  return false;
}

void RunOptions::set(const std::string& name, const std::string& value) {
  for (auto& [known, old] : environment)
    if (known == name) {
      old = value;
      return;
    }
  environment.emplace_back(name, value);
}

RunOptions parse_run_options(int argc, char** argv) {
  RunOptions o;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    if (std::strcmp(argv[i], "--") == 0) {
      ++i;
      break;
    }
    std::string option = argv[i];
    if (own_flag(o, option) || table_flag(o, option)) continue;
    // --option=value
    const std::size_t equals = option.find('=');
    const bool joined = option.compare(0, 2, "--") == 0 && equals != std::string::npos;
    const char* value = joined ? argv[i] + equals + 1 : i + 1 < argc ? argv[i + 1] : nullptr;
    option_with_value(o, option.substr(0, joined ? equals : option.size()), value);
    if (!joined) ++i;
  }
  check_inherited(o);
  o.command = argv + i;
  if (i >= argc && !o.print_environment) fail("no program given: see gpusim-run --help");
  return o;
}

}  // namespace gpusim
