// SPDX-License-Identifier: Apache-2.0
//
// Option table of gpusim-run.
//
// Context:  tools
// Owns:     nothing
// Promises: sizes take K M G, times take ns us ms s
// Not here: see run_options.hpp
#include "tools/run_options.hpp"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/scenarios.hpp"

namespace gpusim {
namespace {

enum class Form { kText, kSize, kTime, kPath, kFlag };
struct Row {
  const char* option;
  const char* variable;
  Form form;
  const char* help;
};

constexpr Row kRows[] = {
    {"--devices", "GPUSIM_DEVICES", Form::kText, "simulated devices, 0 to 16 (2)"},
    {"--model", "GPUSIM_MODEL", Form::kText, "h100, a100 or v100 (h100)"},
    {"--memory", "GPUSIM_MEMORY", Form::kSize,
     "bytes of each device, K M G allowed (the model's own)"},
    {"--time-scale", "GPUSIM_TIME_SCALE", Form::kText, "multiplies every device duration (1.0)"},
    {"--api-cost", "GPUSIM_API_COST_NS", Form::kTime, "CPU time spent in each API call (2us)"},
    {"--kernel-time", "GPUSIM_KERNEL_NS", Form::kTime,
     "fixed duration of every kernel (timing model)"},
    {"--data", "GPUSIM_DATA", Form::kText,
     "copy: round trips keep data; zero: large device writes are dropped (copy)"},
    {"--truth", "GPUSIM_TRUTH", Form::kPath,
     "write what really happened as JSON lines; %p = process id"},
    {"--log", "GPUSIM_LOG", Form::kPath, "write every CUPTI call of the client as JSON lines"},
    {"--log-all", "GPUSIM_LOG_ALL", Form::kFlag,
     "the call log includes per-record and timestamp calls"},
    {"--slot-taken", "GPUSIM_SLOT_TAKEN", Form::kText,
     "the profiler slot is held by NAME; subscribing gives 39"},
    {"--scenario", "GPUSIM_SCENARIO", Form::kText,
     "awkward behaviours, NAME[:ARG][,...]; see --list-scenarios"},
    {"--errors", "GPUSIM_ERRORS", Form::kText, "FUNCTION:NTH:CODE[,...]; NTH may be N, N+ or *"},
    {"--correlation-start", "GPUSIM_CORRELATION_START", Form::kText, "first correlation id (1)"},
    {"--quiet", "GPUSIM_QUIET", Form::kFlag, "no line on stderr at first device use"},
};

constexpr const char* kOwnHelp =
    "  --layout V           emulated CUDA release: 11.8 12.4 12.9 13.0 13.2 future (13.0)\n"
    "  --missing SYM[,SYM]  CUPTI symbols that really cannot be found\n"
    "  --stub               libcuda.so.1 is a toolkit stub in a folder named stubs\n"
    "  --no-driver          there is no libcuda.so.1\n"
    "  --no-cupti           there is no libcupti\n"
    "  --preload            also put the stand-ins into LD_PRELOAD (for programs with an RPATH of "
    "their own)\n"
    "  --print-env          print the variables instead of starting a program\n"
    "  --list-scenarios     print the scenarios\n";

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "gpusim-run: %s\n", what.c_str());
  std::exit(125);
}

[[noreturn]] void print_help() {
  std::puts(
      "gpusim-run [options] [--] program [arguments]\n"
      "Runs a program on a simulated GPU (gpuprof tests). Existing LD_LIBRARY_PATH and LD_PRELOAD "
      "are kept.\n");
  for (const Row& r : kRows) std::printf("  %-20s %s\n", r.option, r.help);
  std::fputs(kOwnHelp, stdout);
  std::exit(0);
}

[[noreturn]] void print_scenarios() {
  for (const ScenarioInfo& s : kScenarios)
    std::printf("%-28s %-6lld %s\n", s.name, static_cast<long long>(s.default_argument), s.help);
  std::exit(0);
}

/// A number with one of the given suffixes, multiplied out.
std::string with_suffix(const char* option, const char* text,
                        const std::vector<std::pair<std::string_view, double>>& suffixes) {
  char* end = nullptr;
  const double n = std::strtod(text, &end);
  for (const auto& [suffix, factor] : suffixes)
    if (end != text && suffix == end && n >= 0)
      return std::to_string(static_cast<unsigned long long>(n * factor));
  fail(std::string(option) + " does not understand '" + text + "'");
}

std::string absolute(const char* path) {
  if (*path == '/') return path;
  char here[PATH_MAX];
  return getcwd(here, sizeof here) != nullptr ? std::string(here) + "/" + path : path;
}

std::string value_of(const Row& row, const char* text) {
  switch (row.form) {
    case Form::kSize:
      return with_suffix(row.option, text,
                         {{"", 1}, {"K", 1024}, {"M", 1048576}, {"G", 1073741824}});
    case Form::kTime:
      return with_suffix(row.option, text,
                         {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}});
    case Form::kPath:
      return absolute(text);
    default:
      return text;
  }
}

void check_scenarios(const std::string& list) {
  std::size_t at = 0;
  while (at < list.size()) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string item = list.substr(at, end - at);
    const std::string name = item.substr(0, item.find(':'));
    bool known = false;
    for (const ScenarioInfo& s : kScenarios) known = known || name == s.name;
    if (!known) fail("unknown scenario '" + name + "'; see --list-scenarios");
    at = end + 1;
  }
}

void split(const std::string& list, std::vector<std::string>& out) {
  std::size_t at = 0;
  while (at < list.size()) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (end > at) out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
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

void set_layout(RunOptions& o, const std::string& layout) {
  for (const char* known : {"11.8", "12.4", "12.9", "13.0", "13.2", "future"}) {
    if (layout != known) continue;
    o.layout = layout;
    o.environment.emplace_back("GPUSIM_LAYOUT", layout);
    return;
  }
  fail("unknown layout '" + layout + "'");
}

void option_with_value(RunOptions& o, const std::string& option, const char* value) {
  if (value == nullptr) fail(option + " needs a value");
  if (option == "--layout") return set_layout(o, value);
  if (option == "--missing") return split(value, o.missing);
  for (const Row& r : kRows) {
    if (option != r.option) continue;
    o.environment.emplace_back(r.variable, value_of(r, value));
    if (option == "--scenario") check_scenarios(value);
    if (option == "--truth" || option == "--log") unlink(o.environment.back().second.c_str());
    return;
  }
  fail("unknown option '" + option + "'");
}

bool table_flag(RunOptions& o, const std::string& option) {
  for (const Row& r : kRows) {
    if (r.form != Form::kFlag || option != r.option) continue;
    o.environment.emplace_back(r.variable, "1");
    return true;
  }
  return false;
}

}  // namespace

RunOptions parse_run_options(int argc, char** argv) {
  RunOptions o;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    if (std::strcmp(argv[i], "--") == 0) {
      ++i;
      break;
    }
    if (own_flag(o, argv[i]) || table_flag(o, argv[i])) continue;
    option_with_value(o, argv[i], i + 1 < argc ? argv[i + 1] : nullptr);
    ++i;
  }
  o.command = argv + i;
  if (i >= argc && !o.print_environment) fail("no program given; see --help");
  return o;
}

}  // namespace gpusim
