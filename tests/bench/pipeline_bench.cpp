// SPDX-License-Identifier: Apache-2.0
//
// Ring to finished gz, the daemon's whole work: ingest on one thread, then the export on two.
//
//   pipeline_bench [EVENTS [REPETITIONS]]        default 1,000,000 and 5
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/export/export.hpp"
#include "daemon/ingest/assembler.hpp"
#include "recording/spool/spool.hpp"
#include "tests/bench/spread.hpp"
#include "tests/bench/training_records.hpp"

namespace {

using namespace gpuprof;
namespace fs = std::filesystem;

struct Cost {
  double wall_s = 0, cpu_s = 0, own_s = 0;  // own: CPU time of the calling thread
};

template <typename F>
Cost cost_of(F&& work) {
  Cost cost;
  timespec before{}, after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  cost.wall_s = test::seconds_of([&] { cost.cpu_s = test::cpu_seconds_of(work); });
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  cost.own_s = static_cast<double>(after.tv_sec - before.tv_sec) +
               static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
  return cost;
}

/// Records into a ring buffer (not counted), out of it and into `path` (counted); returns the
/// events.
std::uint64_t fill_spool(const std::string& path, std::uint64_t wanted, Cost& sum) {
  auto host = ingest::SharedSegment::create({4, 4}, 1).take();
  host.entry(0).state.store(1);
  wire::RingWriter ring(host.ring_header(0), host.ring_data(0), host.capacity(0));
  auto writer = spool::ProcessWriter::create(path).take();
  ingest::Assembler assembler(*writer, nullptr);
  assembler.seed_clock(0, test::kReal);
  ingest::Decoder decoder(host);
  std::uint32_t correlation = 0;
  std::uint64_t now = 1'000'000'000, events = 0;
  const auto add = [&](const Cost& one) { sum.wall_s += one.wall_s, sum.cpu_s += one.cpu_s; };
  test::define_names(ring);
  while (events < wanted) {
    events += test::fill(ring, correlation, now);
    add(cost_of([&] {
      decoder.drain(assembler);
      assembler.end_round(now);
    }));
  }
  add(cost_of([&] {
    assembler.finish(now);
    writer->flush();
  }));
  if (host.ring_header(0)->dropped.load() != 0) std::printf("records were dropped\n");
  return events;
}

/// The spool into one file; returns the events in it.
std::uint64_t write_file(const std::string& folder, const std::string& path, Cost& cost) {
  spool::SessionView session;
  session.folder = folder;
  session.host = "bench";
  session.options.output = folder + "/out";
  session.options.force = true;
  session.options.span_size_events = ~0ULL;
  session.processes.push_back({4000, path});
  const auto windows = exporter::split_by_event_count(session, {4000}).take();
  std::uint64_t events = 0;
  cost = cost_of([&] {
    events = exporter::write_window(session, windows.at(0), {4000}, {}).take().at(0).events;
  });
  return events;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  const std::string folder =
      fs::temp_directory_path() / ("gpuprof-bench-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::vector<double> rates, in_ns, out_ns, best;
  for (int i = 0; i < repetitions; ++i) {
    const std::string path = folder + "/p.spool";
    fs::remove(path);
    Cost in, out;
    const std::uint64_t sent = fill_spool(path, wanted, in), events = write_file(folder, path, out);
    if (sent != events)
      std::printf("%llu events sent, %llu in the file\n", static_cast<unsigned long long>(sent),
                  static_cast<unsigned long long>(events));
    const double ns = 1e9 / static_cast<double>(events);
    rates.push_back(static_cast<double>(events) / (in.wall_s + out.wall_s) / 1e6);
    in_ns.push_back(in.cpu_s * ns);
    out_ns.push_back(out.cpu_s * ns);
    // What two idle cores would give: no thread waits for another job's turn.
    const double longer = std::max(out.own_s, out.cpu_s - out.own_s);
    best.push_back(static_cast<double>(events) / (in.cpu_s + longer) / 1e6);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  test::print_spread("ring to gz          ", rates, "M events/s, wall clock");
  test::print_spread("by the busier thread", best, "M events/s");
  test::print_spread("ring to spool       ", in_ns, "ns of CPU time an event");
  test::print_spread("spool to gz         ", out_ns, "ns of CPU time an event, both threads");
  std::printf("peak memory          %ld MB\n", usage.ru_maxrss / 1024);
  fs::remove_all(folder);
  return 0;
}
