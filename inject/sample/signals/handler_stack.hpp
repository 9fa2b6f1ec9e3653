// SPDX-License-Identifier: Apache-2.0
//
// Stacks for the handler of the sampling signal, one for each ring buffer, and what it remembers
// between samples.
//
// Context:  signal (handler_stack_of), worker (the rest)
// Owns:     one mapping; pages are touched at first use
// Promises: a sample takes the kernel's signal frame and less than 1 KiB from the interrupted
//           stack; unwinding and Python run here
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::sample {

inline constexpr std::size_t kHandlerStackBytes = 64u << 10;
inline constexpr std::uint32_t kMaxHandlerStacks = 512;

/// What is kept at the low end of each stack.
struct HandlerMemory {
  std::uint32_t tid;
  std::uint32_t run;          // which start() it belongs to
  std::uint64_t last_cpu_ns;  // thread CPU time at the last sample
};

struct HandlerStack {
  HandlerMemory* memory;
  void* top;  // 16-byte aligned
};

/// Worker. False: no memory.
bool map_handler_stacks();

/// No handler is at work, nor will be before map_handler_stacks(). Worker.
void unmap_handler_stacks();

/// The stack that goes with ring buffer `entry`; memory null if there is none.
HandlerStack handler_stack_of(std::uint32_t entry);

}  // namespace gpuprof::sample
