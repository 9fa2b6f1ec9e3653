// SPDX-License-Identifier: Apache-2.0
//
// Stacks of launches that a thread has taken before, known again by the words that the walk went
// by.
//
// Context:  callback (its own thread only); map, unmap: worker; forget: boundary
// Owns:     a mapping with a place for each of the first threads that launch
// Promises: nothing is read but the thread's own living stack (each word lies where the ones
//           compared before it say that a frame is) and its Python frames (stack_fingerprint.hpp);
//           a stack is known again only if all of them hold what they held
// Not here: the walk (unwind.hpp), the id (stack_capture.hpp)
//
// A training launches the same kernels from the same places in each step.
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/sample/unwind/stack_capture.hpp"

namespace gpuprof::sample {

/// Where a launch is, besides its stack.
struct LaunchPlace {
  const Registers& start;
  std::uint64_t what;  // tells launches apart that begin at one depth
  StackParts parts;
};

class LaunchMemo;

/// The calling thread's; null: there is no place left, or no memory.
LaunchMemo* launch_memo_of(const hot::Guard& guard);

/// The id of the stack that was taken at this place, if all of it is as it was; else 0.
std::uint64_t known_stack(const LaunchMemo& memo, const LaunchPlace& place);

/// Room for what take_stack() leaves for remember_stack().
Taken& room_for_taken(LaunchMemo& memo);

/// Keeps what it left, if the stack can be known again by it. Under a fault guard in force.
void remember_stack(LaunchMemo& memo, const LaunchPlace& place, std::uint64_t id,
                    std::uint32_t tid);

/// Worker. Without memory there are no places.
void map_launch_memos();
/// Nobody is inside, nor gets there before map_launch_memos().
void unmap_launch_memos();
/// In the child of a fork.
void forget_launch_memos();

}  // namespace gpuprof::sample
