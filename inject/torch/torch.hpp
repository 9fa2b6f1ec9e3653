// SPDX-License-Identifier: Apache-2.0
//
// The component that knows PyTorch: its observer, its memory records, steps among its operators.
//
// Context:  worker, but for what says otherwise
// Owns:     the observer's registration in each copy of libtorch
// Promises: registers nothing that it could not check; removes what it registered; never calls
//           Python, never holds the GIL
// Not here: memory interposition (entry/interpose_torch.cpp forwards to record_allocation())
#pragma once

#include <cstdint>

namespace gpuprof::torch {

enum class ObserveMode : std::uint32_t {
  kOff,
  kSteps,      // steps are looked for among top-level operators, nothing else is recorded
  kOperators,  // every operator is recorded; steps, too, if they are looked for
};

/// What to observe from now on. @param detail wire::kTorch… bits.
void set_mode(ObserveMode wanted, std::uint32_t detail);

/// Looks for libtorch among newly mapped modules and does what set_mode() requested.
/// @return milliseconds until it wants to look again.
std::uint32_t tick(std::uint64_t now_ns);

/// Whether a PyTorch whose operators can be observed is in the process. Any thread.
bool observed();

/// Releases PyTorch: every registration and replaced slot; and all memory of ours if no thread is
/// inside our code and none can get there (hot::no_thread_inside, after the segment was withdrawn).
/// The next set_mode() begins anew.
/// @return False: somebody is inside, the memory is kept.
bool release();

/// In the child of a fork. Boundary.
void after_fork_child();

}  // namespace gpuprof::torch
