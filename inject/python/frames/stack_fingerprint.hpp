// SPDX-License-Identifier: Apache-2.0
//
// All Python frames of the calling thread as one number: whether they are those of a stack that was
// taken before.
//
// Context:  callback (the thread is inside a C call, so its own frames stand still)
// Promises: plain loads, once layouts have proved right (fast_frames.hpp)
// Not here: reading the content of a frame (frames.hpp, fast_frames.hpp)
#pragma once

#include <cstdint>

namespace gpuprof::python {

struct StackFingerprint {
  std::uint64_t hash = 0;   // of which frames there are and where each is in its code
  std::uint64_t state = 0;  // the thread state under the thread's key; 0: none, and no frame
  std::uint32_t count = 0;  // frames
};

/// False: they cannot be read yet, or not at all.
bool fingerprint_stack(StackFingerprint* look);

/// Lets a stack of this thread prove that stacks can be read. For as long as fingerprint_stack()
/// returns false.
void validate_stack(std::uint32_t tid);

/// Whether read_current_frames() reads the frames of this state. Under a fault guard.
bool can_read_state(std::uint64_t state, std::uint32_t tid);

}  // namespace gpuprof::python
