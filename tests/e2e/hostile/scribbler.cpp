// SPDX-License-Identifier: Apache-2.0
//
// A process of the session that maps its segment as the target does and damages it while it is
// read.
//
// usage: hostile_scribbler SECONDS SEED WAYS   WAYS: comma-separated, see kWays; each round is a
// process of its own that connects, does one of them for a while and dies. Prints "rounds N".
//
// Context:  tests
// Not here: what the daemon must make of it (hostile_test.py)
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "gpuprof/base/clock.hpp"
#include "tests/fakes/fake_agent.hpp"

namespace {

using namespace gpuprof;

constexpr std::uint64_t kRoundNs = 250'000'000;
constexpr int kFloodRecords = 60'000;
// However long one takes on a busy machine: two of each way.
constexpr unsigned kMinRounds = 12;

struct Victim {
  fakes::FakeAgent agent;
  std::mt19937_64 random;
  std::uint64_t end_ns = 0;

  bool time_left() const { return base::mono_ns() < end_ns; }
  std::uint32_t rings() const {
    return reinterpret_cast<const wire::SegmentHeader*>(agent.bytes())->ring_count;
  }
  /// By the layout, not by the relative pointers, which are scribbled over too.
  wire::RingHeader* ring(std::uint32_t index) {
    const auto layout = wire::segment_layout(wire::kDefaultLargeRings, wire::kDefaultSmallRings);
    return reinterpret_cast<wire::RingHeader*>(agent.bytes() + layout.rings_offset +
                                               wire::ring_offset(index, wire::kDefaultLargeRings));
  }
  std::byte* ring_data(std::uint32_t index) {
    return reinterpret_cast<std::byte*>(ring(index)) + wire::kRingDataOffset;
  }
  std::uint64_t capacity(std::uint32_t index) const {
    return wire::ring_bytes(index, wire::kDefaultLargeRings);
  }
  void activate(std::uint32_t index) {
    agent.entry(index).tid.store(static_cast<std::uint32_t>(random()) % 32'768);
    agent.entry(index).state.store(static_cast<std::uint32_t>(wire::RingState::kActive));
  }
};

void fill(Victim& v, std::uint8_t* from, std::size_t bytes) {
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    const std::uint64_t word = v.random();
    std::memcpy(from + i, &word, sizeof word);
  }
}

// Random bytes in all rings, published by random words.
void random_bytes(Victim& v) {
  std::uint32_t index = 0;
  for (; v.time_left() && index < v.rings(); ++index) {
    fill(v, reinterpret_cast<std::uint8_t*>(v.ring(index)), v.capacity(index));
    v.ring(index)->head.store(index % 2 == 0 ? v.capacity(index) : v.random());
    v.activate(index);
  }
}

// Frames that are right but for their lengths.
void huge_lengths(Victim& v) {
  constexpr std::uint32_t kLengths[] = {
      0, 4, 7, 8, 12, 16'384, 16'392, 1u << 20, (1u << 20) + 8, 0x7ffffff8, 0xfffffff8, 0xffffffff};
  for (std::uint32_t index = 0; v.time_left() && index < v.rings(); ++index) {
    const wire::FrameHeader bad{kLengths[index % std::size(kLengths)],
                                static_cast<std::uint16_t>(index % 48),
                                static_cast<std::uint16_t>(index % 11)};
    std::memcpy(v.ring_data(index), &bad, sizeof bad);
    v.ring(index)->head.store(index % 3 == 0 ? v.capacity(index) : 64);
    v.activate(index);
    usleep(500);
  }
}

// One thread writes good frames and publishes them; the other moves head and tail and rewrites the
// frames' headers while the daemon looks at them.
void racing_words(Victim& v) {
  const std::uint32_t ring_count = v.rings();
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> current{0};
  std::thread racer([&] {
    std::mt19937_64 random(7);
    while (!stop) {
      const std::uint32_t index = current;
      wire::RingHeader* ring = v.ring(index);
      const std::uint32_t length = random() % 2 == 0 ? 32 : static_cast<std::uint32_t>(random());
      std::memcpy(v.ring_data(index) + random() % 64 * 32, &length, sizeof length);
      if (random() % 64 == 0) ring->head.store(random() % (2 * v.capacity(index)) / 8 * 8);
      if (random() % 64 == 0) ring->tail.store(random());
    }
  });
  while (v.time_left()) {
    const std::uint32_t index = current;
    v.activate(index);
    wire::RingWriter writer(v.ring(index), v.ring_data(index), v.capacity(index));
    for (int i = 0; i < 200; ++i)
      writer.push(wire::Sync{base::real_ns(), base::real_ns() + 1, 1, 2, 3, 4, 5, 0}, 0);
    // The daemon gives a damaged ring buffer up: on to the next.
    usleep(3000);
    current = (index + 1) % ring_count;
  }
  stop = true;
  racer.join();
}

// Records that are framed well and mean nothing: what the daemon keeps of them must be bounded.
void flood(Victim& v) {
  wire::RingWriter rings[4];
  for (std::uint32_t i = 0; i < 4; ++i)
    rings[i] = v.agent.open_ring(i + 1, static_cast<wire::RingRole>(i % 2));
  std::byte body[512];
  for (int i = 0; v.time_left() && i < kFloodRecords; ++i) {
    fill(v, reinterpret_cast<std::uint8_t*>(body), sizeof body);
    const auto kind = static_cast<wire::Kind>(v.random() % 48);
    rings[i % 4].push_raw(kind, body, static_cast<std::uint32_t>(v.random() % sizeof body), nullptr,
                          0, base::mono_ns());
    if (i % 64 == 0) v.agent.process_messages();
  }
}

// Header, plan, statistics and directory: all the daemon reads outside the ring buffers.
void control_words(Victim& v) {
  const auto layout = wire::segment_layout(wire::kDefaultLargeRings, wire::kDefaultSmallRings);
  while (v.time_left()) {
    fill(v, v.agent.bytes(), layout.rings_offset);
    usleep(2000);
  }
}

/// A message of the right size whose every field is random, and so are the lengths of its texts.
template <typename... M>
bool random_message(Victim& v) {
  const std::uint64_t selected = v.random() % sizeof...(M);
  std::uint64_t at = 0;
  bool sent = true;
  const auto one = [&]<typename Message>(Message message) {
    fill(v, reinterpret_cast<std::uint8_t*>(&message), sizeof message);
    sent = v.agent.send(message, "text");
  };
  ((at++ == selected ? one(M{}) : void()), ...);
  return sent;
}

// Packets that are no messages, messages whose lengths lie, messages that mean nothing.
void packets(Victim& v) {
  std::byte bytes[2048];
  while (v.time_left()) {
    fill(v, reinterpret_cast<std::uint8_t*>(bytes), sizeof bytes);
    const std::size_t size = v.random() % sizeof bytes;
    if (v.random() % 2 == 0) {
      wire::MessageHeader header{};
      header.magic = wire::kMessageMagic;
      header.major = wire::kWireMajor;
      header.type = static_cast<std::uint16_t>(v.random() % 128);
      header.body_bytes = static_cast<std::uint32_t>(v.random() % 4 == 0 ? v.random() : size / 2);
      header.tail_bytes = static_cast<std::uint32_t>(size - size / 2);
      std::memcpy(bytes, &header, sizeof header);
    }
    if (size != 0 && !v.agent.send_bytes(bytes, size)) return;
    if (!random_message<wire::Hello, wire::StateReport, wire::FlushDone, wire::Thread, wire::Notice,
                        wire::Fact, wire::Module, wire::ModuleUnloaded, wire::DomainName>(v))
      return;
  }
}

struct Way {
  const char* name;
  void (*damage)(Victim&);
};
constexpr Way kWays[] = {{"random", random_bytes},   {"lengths", huge_lengths},
                         {"racing", racing_words},   {"flood", flood},
                         {"control", control_words}, {"packets", packets}};

/// One process: connects, damages, and ends in one of several ways.
void one_round(const Way& way, std::uint64_t seed) {
  Victim v;
  v.random.seed(seed);
  fakes::FakeAgent::Options options;
  options.exe = std::string("/usr/bin/hostile-") + way.name;
  options.start_ticks = seed;
  if (!v.agent.connect(std::getenv("GPUPROF_SOCKET"), options)) _exit(3);
  v.end_ns = base::mono_ns() + kRoundNs;
  way.damage(v);
  // The daemon's next look falls into this; one in three is gone before it.
  if (seed % 3 != 0) usleep(20'000);
  if (seed % 4 == 1) v.agent.stats().parked.store(1);
  if (seed % 2 == 0) v.agent.send_bye();
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || std::getenv("GPUPROF_SOCKET") == nullptr) return 2;
  const std::uint64_t end_ns =
      base::mono_ns() + std::strtoull(argv[1], nullptr, 10) * 1'000'000'000;
  const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  const std::string wanted = std::string(",") + argv[3] + ",";
  unsigned rounds = 0, refused = 0;
  for (std::uint64_t turn = 0; base::mono_ns() < end_ns || rounds < kMinRounds; ++turn) {
    const Way& way = kWays[turn % std::size(kWays)];
    if (wanted != ",all," && wanted.find(std::string(",") + way.name + ",") == std::string::npos)
      continue;
    const pid_t child = fork();
    if (child == 0) one_round(way, seed + turn);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 1;
    ++rounds;
    refused += status != 0 ? 1 : 0;
  }
  std::printf("rounds %u refused %u\n", rounds, refused);
  return 0;
}
