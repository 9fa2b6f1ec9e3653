// SPDX-License-Identifier: Apache-2.0
//
// Ring to spool: decoder, assembler and spool writer on one core, a training loop's records.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/ingest/assembler.hpp"
#include "recording/spool/spool.hpp"
#include "tests/bench/spread.hpp"
#include "tests/bench/training_records.hpp"

namespace {

using namespace gpuprof;

constexpr int kRepetitions = 9;
constexpr int kRounds = 400;

struct Result {
  double events_per_second, bytes_per_event;
};

Result once(const std::string& folder) {
  auto host = ingest::SharedSegment::create({4, 4}, 1).take();
  host.entry(0).state.store(1);
  wire::RingWriter ring(host.ring_header(0), host.ring_data(0), host.capacity(0));
  const std::string path = folder + "/bench.spool";
  auto writer = spool::ProcessWriter::create(path).take();
  ingest::Assembler assembler(*writer, nullptr);
  assembler.seed_clock(0, test::kReal);
  ingest::Decoder decoder(host);
  std::uint32_t correlation = 0;
  std::uint64_t now = 1'000'000'000, events = 0;
  double seconds = 0;
  test::define_names(ring);
  for (int round = 0; round < kRounds; ++round) {
    events += test::fill(ring, correlation, now);
    seconds += test::cpu_seconds_of([&] {
      decoder.drain(assembler);
      assembler.end_round(now);
    });
  }
  seconds += test::cpu_seconds_of([&] {
    assembler.finish(now);
    writer->flush();
  });
  if (host.ring_header(0)->dropped.load() != 0) std::printf("records were dropped\n");
  const double bytes = static_cast<double>(writer->bytes_written());
  writer.reset();
  ::unlink(path.c_str());
  return {static_cast<double>(events) / seconds, bytes / static_cast<double>(events)};
}

}  // namespace

int main() {
  char name[] = "/tmp/gpuprof-bench-XXXXXX";
  const std::string folder = ::mkdtemp(name);
  std::vector<double> speed, bytes;
  once(folder);
  for (int i = 0; i < kRepetitions; ++i) {
    const Result result = once(folder);
    speed.push_back(result.events_per_second / 1e6);
    bytes.push_back(result.bytes_per_event);
  }
  std::filesystem::remove_all(folder);
  test::print_spread("ring to spool", speed, "M events/s of CPU time");
  test::print_spread("spool        ", bytes, "bytes an event");
  return 0;
}
