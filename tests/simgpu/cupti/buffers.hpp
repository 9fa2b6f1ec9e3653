// SPDX-License-Identifier: Apache-2.0
//
// The client's buffers: asked for, filled, handed back.
//
// Context:  application threads and the worker
// Owns:     the client's buffers between request and completion
// Promises: no lock of ours is held in a client callback (but see scenario abba);
//           a record is whole inside one buffer, groups passed together stay together
// Not here: which records are ready (delivery.hpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/records.hpp"

namespace gpusim {

/// Where a record goes when buffers are per thread: the calling thread's buffer, or the device's.
enum class BufferOwner : std::uint8_t { kThread, kDevice };

/// Appends records, asking for a buffer on this thread if need be. Returns false if they were
/// dropped.
bool append(BufferOwner owner, const Record* records, std::size_t count);

/// Makes sure a buffer for device records exists, asking for it on the calling thread.
void prepare_device_buffer();

/// Hands back the buffers that are full. Called by the worker.
void return_full_buffers();

/// Hands back every buffer that holds anything, on the calling thread; `unused_too`: those that
/// hold nothing as well, so that none is filled for a client that comes after.
void return_all_buffers(bool unused_too);

/// Waits until no other thread is inside a completion.
void wait_for_deliveries();

/// Forgets every buffer without handing it back (cuptiFinalize).
void discard_buffers();

}  // namespace gpusim
