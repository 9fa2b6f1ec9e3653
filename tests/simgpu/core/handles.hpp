// SPDX-License-Identifier: Apache-2.0
//
// From the handles a program holds to the objects behind them, and the runtime's implicit context.
//
// Context:  application threads
// Owns:     nothing
// Promises: a stale or foreign handle gives null; the runtime makes the primary context of the
//           thread's device current at its first need, as the real one does
// Not here: what the objects do
#pragma once

#include "core/objects.hpp"

namespace gpusim {

/// The device of an ordinal, or null.
Device* device_at(int ordinal);

/// Ordinal of the visible device on PCI bus `bus`, or -1.
int device_on_bus(unsigned bus);

/// The primary context of a device, made at the first request. Counts a reference.
Context* retain_primary(Device* device);
/// Gives a reference back; the last one destroys the context. @return CUresult value.
int release_primary(Device* device);

/// The stream of a CUstream or cudaStream_t (null, legacy and per-thread handles mean the default
/// stream of the current context), or null if the handle is stale or no context is current.
Stream* stream_of(const void* handle);

/// Makes a stream in `context` and reports it. `flags` as of cuStreamCreate.
Stream* create_stream(Context* context, unsigned flags, int priority);
/// Reports the end of a stream; work on it still finishes.
void destroy_stream(Stream* stream);
/// Makes an event in `context`. `flags` as of cuEventCreate.
Event* create_event(Context* context, unsigned flags);

/// Ordinal of the calling thread's runtime device.
int runtime_device();
/// cudaSetDevice: makes the primary context of `ordinal` current. @return cudaError_t value.
int set_runtime_device(int ordinal);
/// The current context, or the primary one of the thread's runtime device made current; starts the
/// driver at the first call of the process. Null if that fails; `*error` (may be null) is the
/// cudaError_t value.
Context* runtime_context(int* error = nullptr);
/// Starts the driver if need be. @return cudaError_t value.
int start_runtime();

}  // namespace gpusim
