// SPDX-License-Identifier: Apache-2.0
//
// Ring to spool: decoder, assembler and spool writer on one core, a training loop's records.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/ingest/assembler.hpp"
#include "daemon/spool/spool.hpp"
#include "tests/bench/spread.hpp"

namespace {

using namespace gpuprof;

constexpr int kRepetitions = 9;
constexpr int kRounds = 400;
constexpr std::uint64_t kReal = 1'700'000'000'000'000'000;

/// One round's records: per operator a range, a launch, a host call, a kernel; a sample a few.
std::uint64_t fill(wire::LaneWriter& lane, std::uint32_t& correlation, std::uint64_t& now) {
  std::uint64_t events = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t name = 1 + static_cast<std::uint64_t>(i % 200);
    // Durations that repeat exactly would make the spool look better than it is.
    const std::uint64_t jitter = base::mix64(now + correlation);
    now += 15'000 + jitter % 10'000;
    ++correlation;
    lane.push(wire::RangePush{now, name, 0, 0, 0, 0, 0}, now);
    lane.push(wire::Launch{now + 2000, name, correlation, 2, 0, 211, 1}, now);
    lane.push(wire::ApiCall{kReal + now + 2000, kReal + now + 4000 + jitter % 2003, 201, 211, 2,
                            correlation, 1, 0, 0},
              now);
    wire::KernelExec kernel{};
    kernel.start_ns = kReal + now + 8000;
    kernel.end_ns = kReal + now + 12'000 + jitter % 6'007;
    kernel.name_id = name;
    kernel.correlation = correlation;
    kernel.stream = 7;
    kernel.grid_x = 64, kernel.block_x = 256;
    lane.push(kernel, now);
    lane.push(wire::RangePop{now + 8'000 + jitter % 2999, 0, 0}, now);
    events += 3;
    if (i % 50 != 0) continue;
    lane.push(wire::Sample{now, name, 1, 0, 10'000'000}, now);
    ++events;
  }
  return events;
}

void define_names(wire::LaneWriter& lane) {
  for (std::uint64_t id = 1; id <= 201; ++id) {
    const std::string text = "_ZN2at6native" + std::to_string(id) + "kernelEv";
    lane.push(wire::StringDef{id, static_cast<std::uint32_t>(text.size()), 0}, 0, text.data(),
              static_cast<std::uint32_t>(text.size()));
    std::vector<std::uint64_t> frames(30, 0x7f0000000000 + id * 64);
    lane.push(wire::StackDef{id, 30, 0, 0}, 0, frames.data(), 30 * 8);
  }
}

struct Result {
  double events_per_second, bytes_per_event;
};

Result once(const std::string& folder) {
  auto host = ingest::SegmentHost::create({4, 4}, 1).take();
  host.entry(0).state.store(1);
  wire::LaneWriter lane(host.lane_header(0), host.ring(0), host.capacity(0));
  const std::string path = folder + "/bench.spool";
  auto writer = spool::ProcessWriter::create(path).take();
  ingest::Assembler assembler(*writer, nullptr);
  assembler.seed_clock(0, kReal);
  ingest::Decoder decoder(host);
  std::uint32_t correlation = 0;
  std::uint64_t now = 1'000'000'000, events = 0;
  double seconds = 0;
  define_names(lane);
  for (int round = 0; round < kRounds; ++round) {
    events += fill(lane, correlation, now);
    seconds += test::cpu_seconds_of([&] {
      decoder.drain(assembler);
      assembler.round_done(now);
    });
  }
  seconds += test::cpu_seconds_of([&] {
    assembler.finish(now);
    writer->flush();
  });
  if (host.lane_header(0)->dropped.load() != 0) std::printf("records were dropped\n");
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
