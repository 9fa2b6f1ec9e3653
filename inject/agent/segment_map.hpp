// SPDX-License-Identifier: Apache-2.0
//
// Maps the daemon's segment into this process, checks it and has it published.
//
// Context:  worker; after_fork_child: boundary
// Owns:     nothing: what is published belongs to inject/hot/segment_lifetime.hpp
// Promises: every size and offset of the header is checked before use
#pragma once

#include <cstdint>

namespace gpuprof::agent {

/// Maps `fd` (`bytes` long), checks the header and makes hot::g_state point at it.
/// False: not a segment of ours; nothing was published.
bool publish_segment(int fd, std::uint64_t bytes);

/// Callback and signal code stop using the segment, then it is unmapped. Waits a second at most.
void unpublish_segment();

/// Drops the parent's mapping in a forked child. Boundary.
void drop_segment_after_fork();

}  // namespace gpuprof::agent
