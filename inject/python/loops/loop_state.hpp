// SPDX-License-Identifier: Apache-2.0
//
// Fingerprints of a frame (local variables, loop iterators) that show whether it ran in between.
//
// Context:  callback (the frame is one of the calling thread's own and stands still)
// Promises: plain loads; of objects only as much as their type says they have
// Not here: what a change means (torch/loops/iterations.hpp)
#pragma once

#include <cstdint>

#include "inject/python/frames/fast_frames.hpp"

namespace gpuprof::python {

/// Iterators read in one frame, outermost loops first.
inline constexpr std::uint32_t kMaxIterators = 3;

struct LoopState {
  std::uint64_t locals;  // hash over the objects that the local variables hold
  /// Of a frame without local variables: changes with its globals, in 3.14 with the operands of its
  /// instruction; 0: unknown.
  std::uint64_t globals;
  struct {
    std::uint64_t address;
    std::uint64_t content;  // hash; 0 for what Python code implements
  } iterators[kMaxIterators];
};

/// @param loops How many `for` loops of the frame's code its instruction is in: that many
///              iterators, at least, lie on its stack.
void read_loop_state(const FastFrame& frame, std::uint32_t loops, LoopState* out);

/// The next frames are read with care again. Worker.
void reset_loop_state_validation();

}  // namespace gpuprof::python
