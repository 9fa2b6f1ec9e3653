// SPDX-License-Identifier: Apache-2.0
//
// How a thread gets a lane of the segment and how it is given back.
//
// Context:  signal | callback (claim), worker (retire)
// Owns:     nothing
#pragma once

#include "inject/hot/thread_block.hpp"

namespace gpuprof::hot {

/// Claims a free lane of the block's session and writes its RingOpen. Callback lanes prefer large
/// ones, signal lanes take small ones; either falls back to the other size. The first large ones
/// are for threads through which CUPTI delivers what all others did (`delivers`). False: none
/// (counted once a thread).
bool claim_ring(ThreadBlock& block, RingRole role, bool delivers);

/// Marks the lane as no longer written to; the daemon drains and frees it.
void retire_ring(RingProducer& outlet);

/// Forgets the lane without telling anyone (another segment, or after fork).
void reset(RingProducer& outlet);

}  // namespace gpuprof::hot
