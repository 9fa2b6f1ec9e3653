// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary bytes in a segment's ring buffers, through decoder and assembler.
//
// Input: first byte: ring buffer; second: how far `head` is from the truth; the rest: the ring's
// bytes. Then the same bytes once more as well-framed records of arbitrary kinds.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "daemon/ingest/assembler.hpp"
#include "recording/model/ignoring_sink.hpp"

namespace {

using namespace gpuprof;

/// Touches every borrowed byte, so that a sanitizer sees what is not there.
class Reading final : public model::IgnoringSink {
 public:
  using model::IgnoringSink::on;
  void on(const model::StringDef& e) override { touch(e.text); }
  void on(const model::PythonCode& e) override { touch(e.line_table); }
  void on(const model::StackDef& e) override {
    for (const auto pc : e.native) sum_ += pc;
    for (const auto& frame : e.python) sum_ += frame.code;
  }
  std::uint64_t sum() const { return sum_; }

 private:
  void touch(std::string_view text) {
    for (const char c : text) sum_ += static_cast<unsigned char>(c);
  }
  std::uint64_t sum_ = 0;
};

ingest::SharedSegment& segment() {
  static ingest::SharedSegment host = ingest::SharedSegment::create({1, 4}, 1).take();
  return host;
}

ingest::Limits small_limits() {
  ingest::Limits limits;
  limits.strings = limits.stacks = limits.codes = 16;
  limits.launches = 64;
  limits.range_depth = 8;
  limits.open_ranges = limits.kernel_marks = 8;
  return limits;
}

void drain(ingest::Assembler& assembler) {
  ingest::Decoder decoder(segment());
  for (std::uint64_t now = 1; now < 4; ++now) {
    decoder.drain(assembler);
    assembler.end_round(now * 1'000'000'000);
  }
}

void reset(std::uint32_t ring) {
  for (std::uint32_t i = 0; i < segment().ring_count(); ++i) {
    segment().ring_header(i)->head.store(0);
    segment().ring_header(i)->tail.store(0);
    segment().entry(i).state.store(0);
  }
  segment().entry(ring).state.store(1);
}

void raw_bytes(std::uint32_t ring, std::uint8_t far, const std::uint8_t* data, std::size_t size,
               ingest::Assembler& assembler) {
  reset(ring);
  const std::size_t bytes = std::min<std::size_t>(size, segment().capacity(ring));
  std::memcpy(segment().ring_data(ring), data, bytes);
  segment().ring_header(ring)->head.store(far < 200 ? bytes / 8 * 8 : bytes * far);
  drain(assembler);
}

void framed(std::uint32_t ring, const std::uint8_t* data, std::size_t size,
            ingest::Assembler& assembler) {
  reset(ring);
  wire::RingWriter writer(segment().ring_header(ring), segment().ring_data(ring),
                          segment().capacity(ring));
  while (size > 2) {
    const auto kind = static_cast<wire::Kind>(data[0] % 48);
    const std::size_t bytes = std::min<std::size_t>(data[1], size - 2);
    writer.push_raw(kind, data + 2, static_cast<std::uint32_t>(bytes), nullptr, 0, 1);
    data += 2 + bytes;
    size -= 2 + bytes;
  }
  drain(assembler);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Reading sink;
  ingest::Assembler assembler(sink, nullptr, small_limits());
  assembler.seed_clock(1, 1'000'000);
  const std::uint32_t ring = data[0] % segment().ring_count();
  raw_bytes(ring, data[1], data + 2, size - 2, assembler);
  framed(ring, data + 2, size - 2, assembler);
  assembler.finish(10'000'000'000);
  return sink.sum() == 0x5eed5eed5eedULL ? 1 : 0;
}
