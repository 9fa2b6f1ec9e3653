// SPDX-License-Identifier: Apache-2.0
//
// A training loop's records, as the library would push them into a ring buffer.
//
// Context:  tests
#pragma once

#include <string>
#include <vector>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/wire/records.hpp"
#include "gpuprof/wire/ring_buffer.hpp"

namespace gpuprof::test {

/// CLOCK_REALTIME - CLOCK_MONOTONIC of the made-up machine.
inline constexpr std::uint64_t kReal = 1'700'000'000'000'000'000;

/// One round's records: per operator a range, a launch, a host call, a kernel; a sample a few.
inline std::uint64_t fill(wire::RingWriter& ring, std::uint32_t& correlation, std::uint64_t& now) {
  std::uint64_t events = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t name = 1 + static_cast<std::uint64_t>(i % 200);
    // Durations that repeat exactly would make the spool look better than it is.
    const std::uint64_t jitter = base::mix64(now + correlation);
    now += 15'000 + jitter % 10'000;
    ++correlation;
    ring.push(wire::RangePush{now, name, 0, 0, 0, 0, 0}, now);
    ring.push(wire::Launch{now + 2000, name, correlation, 2, 0, 211, 1, 0, 0}, now);
    ring.push(wire::ApiCall{kReal + now + 2000, kReal + now + 4000 + jitter % 2003, 201, 211, 2,
                            correlation, 1, 0, 0},
              now);
    wire::KernelExec kernel{};
    kernel.start_ns = kReal + now + 8000;
    kernel.end_ns = kReal + now + 12'000 + jitter % 6'007;
    kernel.name_id = name;
    kernel.correlation = correlation;
    kernel.stream = 7;
    kernel.grid_x = 64, kernel.block_x = 256;
    ring.push(kernel, now);
    ring.push(wire::RangePop{now + 8'000 + jitter % 2999, 0, 0}, now);
    events += 3;
    if (i % 50 != 0) continue;
    ring.push(wire::Sample{now, name, 1, 0, 10'000'000}, now);
    ++events;
  }
  return events;
}

inline void define_names(wire::RingWriter& ring) {
  for (std::uint64_t id = 1; id <= 201; ++id) {
    const std::string text = "_ZN2at6native" + std::to_string(id) + "kernelEv";
    ring.push(wire::StringDef{id, static_cast<std::uint32_t>(text.size()), 0}, 0, text.data(),
              static_cast<std::uint32_t>(text.size()));
    std::vector<std::uint64_t> frames(30, 0x7f0000000000 + id * 64);
    ring.push(wire::StackDef{id, 30, 0, 0}, 0, frames.data(), 30 * 8);
  }
}

}  // namespace gpuprof::test
