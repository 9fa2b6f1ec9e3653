// SPDX-License-Identifier: Apache-2.0
//
// `gpuprof report` of a trace file: seconds and peak memory of the whole command, next to Python's
// json.load of the same file.
//
//   report_bench [EVENTS [REPETITIONS]]      default 1,000,000 and 5; with operators and without
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/bench/spread.hpp"
#include "tests/bench/trace_file.hpp"

namespace {

using namespace gpuprof;
namespace fs = std::filesystem;

void measure(const char* what, const std::string& path, int repetitions) {
  const bool packed = path.ends_with(".gz");
  struct Command {
    const char* name;
    std::vector<std::string> words;
    bool slow = false;  // once is enough
  };
  const std::vector<Command> commands = {
      {"report             ", {GPUPROF_COMMAND, "report", "-q", path}},
      {"report --by line   ", {GPUPROF_COMMAND, "report", "-q", "--by", "line", path}},
      {"report --json      ", {GPUPROF_COMMAND, "report", "-q", "--json", path}},
      {"diff with itself   ", {GPUPROF_COMMAND, "diff", "-q", path, path}},
      {"json.load          ",
       {"python3", "-c",
        packed ? "import gzip,json,sys; json.load(gzip.open(sys.argv[1]))"
               : "import json,sys; json.load(open(sys.argv[1]))",
        path},
       true}};
  std::printf("%s, %.0f MB\n", what, static_cast<double>(fs::file_size(path)) / 1e6);
  for (const Command& command : commands) {
    std::vector<double> seconds;
    test::Cost cost;
    for (int i = 0; i < (command.slow ? 1 : repetitions); ++i) {
      // What it prints is of no interest here.
      std::vector<std::string> words = {"sh", "-c", "exec \"$@\" >/dev/null", "sh"};
      words.insert(words.end(), command.words.begin(), command.words.end());
      cost = test::cost_of(words);
      seconds.push_back(cost.seconds);
    }
    test::print_spread(command.name, seconds, "s");
    std::printf("  peak memory %ld MB\n", cost.peak_mb);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // its lines come minutes apart
  const std::uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  const std::string folder =
      fs::temp_directory_path() / ("gpuprof-bench-" + std::to_string(getpid()));
  for (const bool operators : {false, true})
    for (const bool packed : {true, false}) {
      const std::string path = test::write_trace(folder, events, operators, packed);
      measure(operators ? "operators of PyTorch" : "training with a GPU", path, repetitions);
      fs::remove_all(folder);
    }
  return 0;
}
