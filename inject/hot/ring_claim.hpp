// SPDX-License-Identifier: Apache-2.0
//
// Claims a ring buffer of the segment for a thread, and gives it back.
//
// Context:  signal | callback (claim), worker (retire)
#pragma once

#include "inject/hot/thread_block.hpp"

namespace gpuprof::hot {

/// Claims a free ring buffer of the block's session and writes its RingOpen. Callback ring buffers
/// prefer large ones, signal ring buffers take small ones; either falls back to the other size. The
/// first large ones are for threads through which CUPTI delivers what all others did (`delivers`).
/// False: none is free (counted once per thread).
bool claim_ring(ThreadBlock& block, RingRole role, bool delivers);

/// Marks the ring buffer as no longer written to; the daemon drains and frees it.
void retire_ring(RingProducer& producer);

/// Forgets the ring buffer without telling anyone (another segment, or after fork).
void reset(RingProducer& producer);

}  // namespace gpuprof::hot
