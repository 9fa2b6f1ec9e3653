// SPDX-License-Identifier: Apache-2.0
//
// Spool to a file of each format: seconds, CPU time and peak memory, each in a process of its own;
// beside it the time Python's json.load takes for the JSON file of the same events.
//
//   formats_bench [EVENTS [cuda|operators [FORMAT…]]]        default 1,000,000, cuda, all
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "analysis/export/export.hpp"
#include "recording/spool/spool.hpp"
#include "tests/bench/operator_events.hpp"
#include "tests/bench/spread.hpp"
#include "tests/unit/spool/every_event.hpp"

namespace {

using namespace gpuprof;
namespace fs = std::filesystem;

struct Cost {
  bool ok;
  double seconds, cpu_seconds;
  long peak_mb;
};

/// `work` in a child: what a format needs does not add to what the next one seems to.
template <typename Work>
Cost cost_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {status == 0, took.count(), seconds(used.ru_utime) + seconds(used.ru_stime),
          used.ru_maxrss / 1024};
}

void print(const char* name, const Cost& cost, double megabytes) {
  std::printf("%-22s %8.2f s %8.2f s %8ld MB %8.1f MB%s\n", name, cost.seconds, cost.cpu_seconds,
              cost.peak_mb, megabytes, cost.ok ? "" : "   FAILED");
  std::fflush(stdout);
}

double megabytes_in(const std::string& folder, std::string* first) {
  double bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    bytes += static_cast<double>(entry.file_size());
    *first = entry.path();
  }
  return bytes / 1e6;
}

bool load_with_python(const std::string& path) {
  execlp("python3", "python3", "-c", "import gzip, json, sys; json.load(gzip.open(sys.argv[1]))",
         path.c_str(), nullptr);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const bool operators = argc > 2 && std::strcmp(argv[2], "operators") == 0;
  std::vector<std::string> names(argv + std::min(argc, 3), argv + argc);
  if (names.empty()) names = exporter::format_names();
  const std::string folder =
      fs::temp_directory_path() / ("gpuprof-formats-" + std::to_string(getpid()));
  fs::create_directories(folder);
  spool::SessionView session;
  session.folder = folder;
  session.host = "bench";
  session.options.span_size_events = ~0ULL;
  session.processes.push_back({4000, folder + "/p.spool"});
  std::vector<model::Window> windows;
  // In a child as well, so that the others begin small.
  cost_of([&] {
    auto writer = spool::ProcessWriter::create(folder + "/p.spool").take();
    operators ? test::OperatorEvents(*writer).send(events) : test::send_training(events, *writer);
    return true;
  });
  windows = exporter::split_by_event_count(session, {4000}).take();
  std::printf("%llu events, %s\n%-22s %10s %10s %11s %11s\n",
              static_cast<unsigned long long>(events), operators ? "operators" : "CUDA", "format",
              "time", "CPU", "peak", "file");
  std::string json;
  for (const std::string& name : names) {
    session.options.formats = {name};
    session.options.output = folder + "/" + name;
    const Cost cost =
        cost_of([&] { return exporter::write_window(session, windows.at(0), {4000}, {}).ok(); });
    std::string file;
    print(name.c_str(), cost, cost.ok ? megabytes_in(session.options.output, &file) : 0);
    if (name == "tensorboard") json = file;
  }
  if (!json.empty())
    print("(Python's json.load)", cost_of([&] { return load_with_python(json); }), 0);
  fs::remove_all(folder);
  return 0;
}
