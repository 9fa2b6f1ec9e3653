// SPDX-License-Identifier: Apache-2.0
//
// Trace file to session: seconds and peak memory, next to Python's json.load of the same file.
//
//   import_bench [EVENTS [REPETITIONS]]      default 1,000,000 and 5; with operators and without
//   import_bench --file TRACE                one import, as a process of its own
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "daemon/export/export.hpp"
#include "daemon/import/import.hpp"
#include "daemon/spool/spool.hpp"
#include "tests/bench/operator_events.hpp"
#include "tests/bench/spread.hpp"
#include "tests/unit/spool/every_event.hpp"

namespace {

using namespace gpuprof;
namespace fs = std::filesystem;

int import_one(const std::string& path) {
  const auto imported = importer::import_traces({path}, {});
  if (!imported) return std::fprintf(stderr, "%s\n", imported.error().sentence.c_str()), 1;
  return 0;
}

struct Cost {
  double seconds = 0;
  long peak_mb = 0;
};

/// A command in a process of its own, so that its memory is its own.
Cost cost_of(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Cost cost;
  rusage usage{};
  cost.seconds = test::seconds_of([&] {
    const pid_t child = fork();
    if (child == 0) {
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    int status = 0;
    wait4(child, &status, 0, &usage);
    if (status != 0) std::printf("%s failed\n", command[0].c_str());
  });
  cost.peak_mb = usage.ru_maxrss / 1024;
  return cost;
}

std::string write_trace(const std::string& folder, std::uint64_t events, bool operators,
                        bool packed) {
  fs::create_directories(folder);
  {
    auto writer = spool::ProcessWriter::create(folder + "/p.spool").take();
    operators ? test::OperatorEvents(*writer).send(events) : test::send_training(events, *writer);
  }
  spool::SessionView session;
  session.folder = folder;
  session.host = "bench";
  session.options.output = folder + (packed ? "/trace.pt.trace.json.gz" : "/trace.pt.trace.json");
  session.options.output_is_pattern = true;
  session.options.span_size_events = ~0ULL;
  session.processes.push_back({4000, folder + "/p.spool"});
  const auto windows = exporter::windows_by_size(session, {4000}).take();
  return exporter::write_window(session, windows.at(0), {4000}, {}).take().at(0).path;
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
