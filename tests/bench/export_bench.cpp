// SPDX-License-Identifier: Apache-2.0
//
// Spool to file: events a second and peak memory, next to plain deflating of the same bytes.
//
//   export_bench [EVENTS [REPETITIONS [training|operators [FORMAT]]]]
//
// By default 1,000,000 events of a training in CUDA calls, 9 times, for TensorBoard.
#include <isa-l/igzip_lib.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "analysis/export/export.hpp"
#include "recording/spool/spool.hpp"
#include "tests/bench/operator_events.hpp"
#include "tests/bench/spread.hpp"
#include "tests/unit/spool/every_event.hpp"

namespace {

using namespace gpuprof;
namespace fs = std::filesystem;

/// The file's text, unpacked piece by piece, deflated again on one thread: what the compression
/// alone costs.
double redeflate_seconds(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::uint8_t> text(16u << 20), out(17u << 20), level(ISAL_DEF_LVL1_LARGE);
  inflate_state inflate;
  isal_inflate_init(&inflate);
  inflate.crc_flag = ISAL_GZIP;
  inflate.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(packed.data()));
  inflate.avail_in = static_cast<std::uint32_t>(packed.size());
  double seconds = 0;
  for (;;) {
    inflate.next_out = text.data();
    inflate.avail_out = static_cast<std::uint32_t>(text.size());
    if (isal_inflate(&inflate) != ISAL_DECOMP_OK) break;
    const std::size_t bytes = text.size() - inflate.avail_out;
    if (bytes == 0) break;
    seconds += test::cpu_seconds_of([&] {
      isal_zstream stream;
      isal_deflate_stateless_init(&stream);
      stream.level = 1;
      stream.level_buf = level.data();
      stream.level_buf_size = static_cast<std::uint32_t>(level.size());
      stream.next_in = text.data();
      stream.avail_in = static_cast<std::uint32_t>(bytes);
      stream.next_out = out.data();
      stream.avail_out = static_cast<std::uint32_t>(out.size());
      stream.end_of_stream = 1;
      isal_deflate_stateless(&stream);
    });
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 9;
  const std::string folder =
      fs::temp_directory_path() / ("gpuprof-bench-" + std::to_string(getpid()));
  fs::create_directories(folder);
  {
    auto writer = spool::ProcessWriter::create(folder + "/p.spool").take();
    if (argc > 3 && std::string(argv[3]) == "operators") {
      test::OperatorEvents(*writer).send(events);
    } else {
      test::send_training(events, *writer);
    }
  }
  spool::SessionView session;
  session.folder = folder;
  session.host = "bench";
  session.options.output = folder + "/out";
  session.options.force = true;
  if (argc > 4) session.options.formats = {argv[4]};
  session.options.span_size_events = ~0ULL;
  session.processes.push_back({4000, folder + "/p.spool"});
  const auto windows = exporter::split_by_event_count(session, {4000}).take();
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);

  std::vector<double> rates, cpu_ns, ratios;
  std::string path;
  std::uint64_t bytes = 0, written = 0;
  for (int i = 0; i < repetitions; ++i) {
    double seconds = 0;
    const double cpu = test::cpu_seconds_of([&] {
      seconds = test::seconds_of([&] {
        const auto files = exporter::write_window(session, windows.at(0), {4000}, {}).take();
        path = files.at(0).path;
        bytes = files.at(0).bytes;
        written = files.at(0).events;
      });
    });
    // Before the comparison, which reads the whole file.
    if (i == 0) getrusage(RUSAGE_SELF, &after);
    rates.push_back(static_cast<double>(written) / seconds);
    cpu_ns.push_back(cpu * 1e9 / static_cast<double>(written));
    if (path.ends_with(".gz")) ratios.push_back(cpu / redeflate_seconds(path));
  }
  std::printf("cores               %u\n", std::thread::hardware_concurrency());
  std::printf("events              %llu\n", static_cast<unsigned long long>(written));
  std::printf("file                %.1f bytes an event\n",
              static_cast<double>(bytes) / static_cast<double>(written));
  test::print_spread("export              ", rates, "events/s");
  test::print_spread("CPU time            ", cpu_ns, "ns an event, both threads");
  if (!ratios.empty()) test::print_spread("CPU / deflate alone ", ratios, "");
  std::printf("peak memory         %ld MB before, %ld MB after\n", before.ru_maxrss / 1024,
              after.ru_maxrss / 1024);
  fs::remove_all(folder);
  return 0;
}
