// SPDX-License-Identifier: Apache-2.0
//
// What a push costs, against memcpy of the same bytes in the same run.
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "gpuprof/wire/ring_buffer.hpp"
#include "tests/bench/spread.hpp"

namespace {

using namespace gpuprof;

constexpr int kRepetitions = 11;
constexpr int kRecords = 4'000'000;
constexpr std::uint64_t kRing = 1u << 20;

struct Ring {
  alignas(64) wire::RingHeader header{};
  std::vector<std::byte> ring = std::vector<std::byte>(kRing);
};

double push_ns(Ring& ring) {
  wire::RingWriter writer(&ring.header, ring.ring.data(), kRing);
  wire::Sample record{1, 2, 3, 0, 4};
  const double seconds = test::seconds_of([&] {
    for (int i = 0; i < kRecords; ++i) {
      record.ts_ns = static_cast<std::uint64_t>(i);
      // The reader's part, done here by one store: the ring is always read.
      if ((i & 4095) == 0)
        ring.header.tail.store(ring.header.head.load(std::memory_order_relaxed),
                               std::memory_order_release);
      writer.push(record, record.ts_ns);
    }
  });
  if (ring.header.dropped.load() != 0) std::printf("dropped records: the figure is no good\n");
  return seconds * 1e9 / kRecords;
}

double memcpy_ns(Ring& ring) {
  wire::Sample record{1, 2, 3, 0, 4};
  constexpr std::size_t kFrame = wire::frame_bytes(sizeof(wire::Sample), 0);
  std::size_t at = 0;
  const double seconds = test::seconds_of([&] {
    for (int i = 0; i < kRecords; ++i) {
      record.ts_ns = static_cast<std::uint64_t>(i);
      std::memcpy(ring.ring.data() + at, &record, sizeof record);
      at += kFrame;
      if (at + kFrame > kRing) at = 0;
      asm volatile("" : : "r"(ring.ring.data()) : "memory");
    }
  });
  return seconds * 1e9 / kRecords;
}

}  // namespace

int main() {
  auto ring = std::make_unique<Ring>();
  push_ns(*ring);  // touches the pages
  std::vector<double> push, copy, ratio;
  for (int i = 0; i < kRepetitions; ++i) {
    copy.push_back(memcpy_ns(*ring));
    auto fresh = std::make_unique<Ring>();
    push_ns(*fresh);
    push.push_back(push_ns(*fresh));
    ratio.push_back(push.back() / copy.back());
  }
  std::printf("a record of %zu bytes (frame %u)\n", sizeof(wire::Sample),
              wire::frame_bytes(sizeof(wire::Sample), 0));
  test::print_spread("push           ", push, "ns");
  test::print_spread("memcpy         ", copy, "ns");
  test::print_spread("push / memcpy  ", ratio, "");
  return 0;
}
