// SPDX-License-Identifier: Apache-2.0
//
// Publishes a segment to callback and signal code, and withdraws it again while they run.
//
// Context:  worker; drop_segment_after_fork: boundary
// Owns:     the mapping of the segment from publish_segment() on, the table of thread blocks with
//           it
// Promises: after unpublish_segment() no record reaches the segment and nothing of it is mapped.
//           Where a thread does not leave our code within the deadline, dummy memory lies in the
//           segment's place until it has left (reported once); nobody ever finds unmapped memory
// Not here: who may see it meanwhile (state.hpp), checks of the header (agent/segment_map.hpp)
#pragma once

#include <cstdint>

#include "gpuprof/wire/segment.hpp"

namespace gpuprof::hot {

/// A mapped segment whose header has been checked.
struct MappedSegment {
  std::uint8_t* base;
  std::uint64_t bytes;
  wire::RingEntry* rings;
  std::uint32_t ring_count, large_rings;
  const wire::Plan* plan;  // inside it, as is `stats`
  const wire::Stats* stats;
};

/// Publishes the segment. None may be published at the time.
/// @param fd Where it was mapped from; not needed afterwards.
/// @return false: no memory, or a layout that cannot be published. The mapping is then the
/// caller's.
bool publish_segment(const MappedSegment& segment, int fd);

enum class UnpublishResult {
  kNothing,   // nothing was published
  kUnmapped,  // all of it is gone
  kLeaked,    // somebody is still inside: its place in the address space is not free yet
};

/// Withdraws the segment: waits until no thread that may use it is inside, `deadline_ms` at most or
/// until a fork wants the worker to park.
UnpublishResult unpublish_segment(std::uint32_t deadline_ms);

/// Whether no thread is inside our code with anything of a session. Once nothing is published, that
/// stays true: what only code inside a Guard reads may be unmapped.
bool no_thread_inside();

/// Reports to the daemon of the present session, once, earlier segments that could not be unmapped.
void report_leaked_segments();

/// In the child of a fork: drops the parent's segment and its threads. Boundary.
void drop_segment_after_fork();

}  // namespace gpuprof::hot
