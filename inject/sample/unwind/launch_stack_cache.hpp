// SPDX-License-Identifier: Apache-2.0
//
// Launch stacks that a thread has taken before, recognised by the words of its stack that the walk
// has read.
//
// Context:  callback (its own thread only); map_…, unmap_…: worker; reset_…: boundary
// Owns:     a mapping with a place for each of the first threads that launch
// Promises: nothing is read but the thread's own living stack (each word lies where the ones
//           compared before it say that a frame is) and its Python frames (stack_fingerprint.hpp);
//           a stack is recognised only if all of them hold what they held
// Not here: the walk (unwind.hpp), the id (stack_capture.hpp)
//
// A training program launches the same kernels from the same places in each step.
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/sample/unwind/stack_capture.hpp"

namespace gpuprof::sample {

/// Where a launch is, besides its stack.
struct LaunchSite {
  const Registers& start;
  std::uint64_t discriminator;  // tells launches apart that begin at one depth
  StackParts parts;
};

class LaunchStackCache;

/// The calling thread's; null: there is no place left, or no memory.
LaunchStackCache* launch_stack_cache_of(const hot::Guard& guard);

/// The id of the stack that was taken at this place, if all of it is as it was; else 0.
std::uint64_t find_cached_stack(const LaunchStackCache& cache, const LaunchSite& place);

/// Room for what capture_stack() leaves for cache_stack().
CapturedStack& capture_buffer(LaunchStackCache& cache);

/// Keeps what it left, if the stack can be recognised by it. With a fault guard in force.
void cache_stack(LaunchStackCache& cache, const LaunchSite& place, std::uint64_t id,
                 std::uint32_t tid);

/// Worker. Without memory there are no places.
void map_launch_stack_caches();
/// No thread is inside, nor gets there before map_launch_stack_caches().
void unmap_launch_stack_caches();
/// In the child of a fork.
void reset_launch_stack_caches();

}  // namespace gpuprof::sample
