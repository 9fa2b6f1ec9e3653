// SPDX-License-Identifier: Apache-2.0
//
// What the sample program did, counted after each successful call.
//
// Context:  any thread
// Owns:     nothing
// Promises: a count never runs ahead of the calls made
// Not here: printing (main.cpp)
#pragma once

#include <atomic>

namespace trainer {

constexpr int kKernelNames = 12;
constexpr int kCopyKinds = 4;  ///< HtoD, DtoH, DtoD, PtoP

/// Cumulative counts of the process.
struct Counters {
  std::atomic<long> steps{0}, kernels{0}, launches{0}, graph_launches{0}, memsets{0},
      memset_bytes{0};
  std::atomic<long> by_name[kKernelNames] = {};
  std::atomic<long> copies[kCopyKinds] = {};
  std::atomic<long> copy_bytes[kCopyKinds] = {};
};

}  // namespace trainer
