// SPDX-License-Identifier: Apache-2.0
//
// Events into a spool and out again: events a second of CPU time, bytes a record.
//
//   spool_bench [EVENTS [REPETITIONS]]        default 2,000,000 and 9
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "recording/spool/spool.hpp"
#include "tests/bench/spread.hpp"
#include "tests/unit/spool/every_event.hpp"

namespace {

using namespace gpuprof;
namespace fs = std::filesystem;

/// What making the events costs, and copying them as they are.
struct Copying final : model::IgnoringSink {
  using model::IgnoringSink::on;
  template <typename E>
  void copy(const E& event) {
    if (at + sizeof event > sizeof room) at = 0;
    std::memcpy(room + at, &event, sizeof event);
    at += sizeof event;
    bytes += sizeof event;
  }
  void on(const model::Sample& e) override { copy(e); }
  void on(const model::Range& e) override { copy(e); }
  void on(const model::ApiCall& e) override { copy(e); }
  void on(const model::Kernel& e) override { copy(e); }
  void on(const model::MemCopy& e) override { copy(e); }
  char room[1 << 16];
  std::size_t at = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'000'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 9;
  const std::string folder =
      fs::temp_directory_path() / ("gpuprof-bench-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string path = folder + "/p.spool";
  std::vector<double> writes, reads, ratios;
  std::uint64_t bytes = 0, written = 0, copied_bytes = 0;
  for (int i = 0; i < repetitions; ++i) {
    fs::remove(path);
    Copying copying;
    const double copied = test::cpu_seconds_of([&] { test::send_training(events, copying); });
    copied_bytes = copying.bytes;
    const double seconds = test::cpu_seconds_of([&] {
      auto writer = spool::ProcessWriter::create(path).take();
      test::send_training(events, *writer);
      writer->flush();
      bytes = writer->bytes_written();
      written = writer->events_written();
    });
    // Making the events is not the spool's work.
    writes.push_back(static_cast<double>(written) / (seconds - copied));
    ratios.push_back((seconds - copied) / copied);
    model::IgnoringSink sink;
    const double back = test::cpu_seconds_of([&] { (void)spool::replay(path, {}, sink).ok(); });
    reads.push_back(static_cast<double>(written) / back);
  }
  std::printf("events              %llu\n", static_cast<unsigned long long>(written));
  std::printf("record              %.2f bytes stored, %.1f as structs\n",
              static_cast<double>(bytes) / static_cast<double>(written),
              static_cast<double>(copied_bytes) / static_cast<double>(written));
  test::print_spread("write               ", writes, "events/s");
  test::print_spread("write / make + copy ", ratios, "");
  test::print_spread("replay              ", reads, "events/s");
  fs::remove_all(folder);
  return 0;
}
