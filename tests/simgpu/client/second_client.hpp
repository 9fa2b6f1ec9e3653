// SPDX-License-Identifier: Apache-2.0
//
// A second client of CUPTI in the same process, in a shared object of its own, and kernels that a
// library launches through the runtime.
//
// Context:  test program
// Owns:     nothing
// Promises: opened by sim_client when one of its options asks for it
// Not here: the first client (sim_client.cpp)
#pragma once

#include <cstdint>

namespace client {

/// What gpusim_second.so exports as `gpusim_second`.
struct SecondClient {
  /// Subscribes, registers buffers, enables kernels; with `clock` registers it as CUPTI's. Prints
  /// each result with the prefix "second_".
  void (*start)(std::uint64_t (*clock)());
  /// Enables API and external-correlation records and pushes an id of kind CUSTOM0.
  void (*push)(std::uint64_t id);
  /// Disables, flushes, unsubscribes.
  void (*stop)();
  /// Launches `count` kernels as cuBLAS would, on the default stream of the current context.
  bool (*library_kernels)(int count);
};

}  // namespace client
