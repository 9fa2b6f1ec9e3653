// SPDX-License-Identifier: Apache-2.0
//
// Trace file to session: seconds and peak memory, next to Python's json.load of the same file.
//
//   import_bench [EVENTS [REPETITIONS]]      default 1,000,000 and 5; with operators and without
//   import_bench --file TRACE                one import, as a process of its own
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "analysis/import/import.hpp"
#include "tests/bench/spread.hpp"
#include "tests/bench/trace_file.hpp"

namespace {

using namespace gpuprof;
using test::Cost;
using test::cost_of;
using test::write_trace;
namespace fs = std::filesystem;

int import_one(const std::string& path) {
  const auto imported = importer::import_traces({path}, {});
  if (!imported) return std::fprintf(stderr, "%s\n", imported.error().message.c_str()), 1;
  return 0;
}

void measure(const char* what, const std::string& path, const char* self, int repetitions) {
  std::vector<double> ours, python;
  Cost cost, load;
  for (int i = 0; i < repetitions; ++i) {
    cost = cost_of({self, "--file", path});
    ours.push_back(cost.seconds);
    const bool packed = path.ends_with(".gz");
    load = cost_of({"python3", "-c",
                    packed ? "import gzip,json,sys; json.load(gzip.open(sys.argv[1]))"
                           : "import json,sys; json.load(open(sys.argv[1]))",
                    path});
    python.push_back(load.seconds);
  }
  std::printf("%s, %.0f MB\n", what, static_cast<double>(fs::file_size(path)) / 1e6);
  test::print_spread("  import     ", ours, "s");
  std::printf("  peak memory %ld MB\n", cost.peak_mb);
  test::print_spread("  json.load  ", python, "s");
  std::printf("  peak memory %ld MB\n", load.peak_mb);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--file") == 0) return import_one(argv[2]);
  const std::uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  const std::string folder =
      fs::temp_directory_path() / ("gpuprof-bench-" + std::to_string(getpid()));
  for (const bool operators : {false, true})
    for (const bool packed : {true, false}) {
      const std::string path = write_trace(folder, events, operators, packed);
      measure(operators ? "operators of PyTorch" : "training with a GPU", path, argv[0],
              repetitions);
      fs::remove_all(folder);
    }
  return 0;
}
