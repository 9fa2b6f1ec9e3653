// SPDX-License-Identifier: Apache-2.0
//
// How much of one process the ingest keeps in memory at most.
//
// Context:  daemon
#pragma once

#include <cstdint>

namespace gpuprof::ingest {

/// No process counts this far: as nanoseconds, 13 days of one thread's CPU time.
inline constexpr std::uint64_t kMaxPlausibleCount = 1ULL << 50;

struct Limits {
  std::uint32_t strings = 100'000, stacks = 300'000, codes = 100'000;
  std::uint32_t inputs = 300'000, torch_modules = 100'000;
  std::uint32_t launches = 1u << 20;    // a power of two: launches remembered for their kernels
  std::uint32_t range_depth = 4096;     // open push/pop ranges of one thread
  std::uint32_t operator_depth = 1024;  // open operators of one thread
  std::uint32_t viewer_depth = 100;     // deeper ones of a thread are marked kRangeDeep
  std::uint32_t open_ranges = 100'000;  // start/end ranges open at once
  std::uint32_t kernel_marks = 65'536;  // step marks waiting for their name's match
};

}  // namespace gpuprof::ingest
