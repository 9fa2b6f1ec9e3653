// SPDX-License-Identifier: Apache-2.0
//
// Maps the daemon's segment into this process and publishes it to callback and signal code.
//
// Context:  worker; after_fork_child: boundary
// Owns:     the mapping and the alive page, for the life of the process
// Promises: every size and offset of the header is checked before use; a mapping is never undone
#pragma once

#include <cstdint>

namespace gpuprof::agent {

/// Maps `fd` (`bytes` long), checks the header and makes hot::g_state point at it.
/// False: not a segment of ours; nothing was published.
bool publish_segment(int fd, std::uint64_t bytes);

/// Callback and signal code stop using the segment from here on; it stays mapped.
void withdraw_segment();

/// Drops the parent's mapping in a forked child. Boundary.
void drop_segment_after_fork();

}  // namespace gpuprof::agent
