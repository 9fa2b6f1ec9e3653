// SPDX-License-Identifier: Apache-2.0
//
// The component that knows PyTorch: its observer, its memory records, steps among its operators.
//
// Context:  worker, but for what says otherwise
// Owns:     the observer's registration in each copy of libtorch
// Promises: registers nothing that it could not check; takes off what it put on; never calls
//           Python, never holds the GIL
// Not here: memory interposition (entry/interpose_torch.cpp forwards to record_allocation())
#pragma once

#include <cstdint>

namespace gpuprof::torch {

enum class ObserveMode : std::uint32_t {
  kOff,
  kSteps,      // top-level operators are looked at for steps, nothing else is recorded
  kOperators,  // every operator is recorded; steps, too, if they are looked for
};

/// What to observe from now on. @param detail wire::kTorch… bits.
void set_mode(ObserveMode wanted, std::uint32_t detail);

/// Looks for libtorch among newly mapped modules and does what set_mode() asked for.
/// @return milliseconds until it wants to look again.
std::uint32_t tick(std::uint64_t now_ns);

/// A PyTorch whose operators can be seen is in the process. Any thread.
bool observed();

/// Releases PyTorch: no registration, no replaced slot; and of all memory of ours if no thread is
/// inside our code and none can come (hot::no_thread_inside, after the segment was withdrawn). The
/// next set_mode() begins anew.
/// @return False: somebody is inside, the memory is kept.
bool release();

/// In the child of a fork. Boundary.
void after_fork_child();

}  // namespace gpuprof::torch
