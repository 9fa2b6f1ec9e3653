// SPDX-License-Identifier: Apache-2.0
//
// One helper thread that calls cuptiActivityFlushAll, so that a flush that never returns blocks
// neither the worker nor the program's exit; where no other thread can, it makes all our calls of
// CUPTI.
//
// Context:  worker | boundary; request_flush_soon: callback; wait_for_ring_space: callback, on that
//           thread only
// Owns:     the thread, while records are expected or it is kept
// Promises: every wait has a deadline; a hung flush is reported, and nothing more is requested
//           after it
// Not here: when to flush (cupti_state.cpp)
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"

namespace gpuprof::cupti {

/// Starts the thread if it does not run. False: no thread could be created.
bool start_flush_thread();

/// Ends the thread; waits at most `deadline_ms`, a hung one is left behind. True: it is gone.
/// @param starved_ms  Additional time to wait, while it is not inside CUPTI and waits for a
/// processor.
bool stop_flush_thread(std::uint32_t deadline_ms, std::uint32_t starved_ms = 0);

/// Starts the thread from a thread that has the program's descriptors, and keeps it: the worker has
/// its own table, in which CUDA's and CUPTI's are not. From now on it makes the calls of CUPTI.
void keep_flush_thread();
bool is_flush_thread_kept();
/// Where a fork has ended a kept thread: creates it again. On a thread of the program.
void restart_flush_thread();
/// Ends it for good. False: it hangs and is left behind.
bool end_flush_thread(std::uint32_t deadline_ms);

/// Runs `job` where CUPTI can work: on the calling thread if it is one of the program, else on the
/// kept one, if there is one. False: it did not end in time, and continues; or the one before it
/// has not ended.
bool run_on_flush_thread(void (*job)(), std::uint32_t deadline_ms);

/// Requests a flush and returns at once. @return a ticket for wait_flush.
std::uint32_t request_flush(bool forced);

/// Requests a flush unless one is requested already or was done less than `spacing_ms` ago.
/// Callback.
void request_flush_soon(std::uint32_t spacing_ms);

/// Waits until the flush of this ticket is done. False: deadline passed.
bool wait_flush(std::uint32_t ticket, std::uint32_t deadline_ms);

/// Whether the thread exists at this moment. Any thread.
bool flush_thread_runs();

/// How many flushes were requested, and the ticket of the last one that has ended.
std::uint32_t flushes_requested();
std::uint32_t flushes_done();

/// Since when a flush has been running (CLOCK_MONOTONIC), 0: none is.
std::uint64_t flush_started_ns();

/// Whether the last reading was of a foreign clock.
bool clock_was_foreign();

/// On the flush thread only: gives the daemon a moment when the ring buffer is half full.
/// False: the daemon did not use it, do not wait again for this buffer.
bool wait_for_ring_space(const hot::Guard& guard);

/// In a forked child: the thread does not exist here.
void reset_flush_thread_after_fork();

}  // namespace gpuprof::cupti
