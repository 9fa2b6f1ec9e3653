// SPDX-License-Identifier: Apache-2.0
//
// Virtual device time: when each operation on a stream starts and ends.
//
// Context:  application threads; what waits in a queue also on the pump's thread
// Owns:     nothing
// Promises: times are fixed at enqueue, or when what the operation waits for is known; inside a
//           stream operations never overlap; at most 1,024 operations of a stream are unfinished,
//           else the caller waits
// Not here: the queue itself (stream_queue.hpp), capture and graphs (graphs.hpp)
#pragma once

#include <cstdint>

#include "core/memory/memory.hpp"
#include "core/objects.hpp"

namespace gpusim {

class Rendezvous;

/// How long `op` lasts on a device of model `m`, before the time scale.
std::uint64_t duration_ns(const DeviceModel& m, const DeviceOp& op);

/// Gives `op` its ids and times on `stream`, or records it if the stream is being captured. What it
/// does to memory happens when its turn comes (never while capturing; at each launch of the graph).
/// @return CUresult value.
int submit(Stream* stream, DeviceOp& op, const Effect& effect = {});

/// The same for an operation whose end others decide. While capturing it is a plain operation.
int submit(Stream* stream, DeviceOp& op, std::unique_ptr<Rendezvous> rendezvous);

/// Calls `function(user)` on a thread of the simulator when its turn on `stream` comes; later work
/// on the stream waits until it has returned. @return CUresult value.
int enqueue_host_function(Stream* stream, void (*function)(void*), void* user);

/// Frees the allocation at `address` when its turn on `stream` comes. @return CUresult value.
int release_on_stream(Stream* stream, std::uintptr_t address);

/// Places an operation of known length on `stream`, no earlier than `ready_ns`. Sets op.start_ns
/// and op.end_ns. Caller holds the device mutex.
void place(Stream* stream, DeviceOp& op, std::uint64_t ready_ns, std::uint64_t length_ns);
/// The earliest start on `stream`. Caller holds the device mutex.
std::uint64_t earliest_start(const Stream* stream, std::uint64_t ready_ns);
/// Enters `op`, whose times are set. Caller holds the device mutex.
void occupy(Stream* stream, const DeviceOp& op);
/// Makes later work wait until `end_ns`. Caller holds the device mutex.
void note_tail(Stream* stream, std::uint64_t end_ns);
/// The latest end on the stream, default-stream rules included. Caller holds the device mutex.
std::uint64_t locked_tail(const Stream* stream);

/// Blocks while the stream's queue is full. Caller holds `lock` on the device mutex; it is released
/// while waiting.
void wait_for_room(Stream* stream, std::unique_lock<std::mutex>& lock);

/// The latest end on the stream, default-stream rules included; kNever if it is not known yet.
std::uint64_t tail_ns(Stream* stream);

/// Scales a device duration by GPUSIM_TIME_SCALE.
std::uint64_t scaled(double ns);

/// Time from enqueue to the earliest start on an idle device.
std::uint64_t launch_latency_ns();

/// Waits until the stream is idle and reports the wait.
void synchronize_stream(Stream* stream);
/// Waits until the context is idle and reports the wait.
void synchronize_context(Context* context);
/// Waits until the event has happened and reports the wait.
void synchronize_event(Event* event);

/// Records the stream's tail into the event.
void record_event(Event* event, Stream* stream);
/// Makes later work on `stream` wait for the event.
int wait_event(Stream* stream, Event* event);
/// When the event happens or happened; kNever if that is not known yet.
std::uint64_t event_time_ns(Event* event);

/// Tells tool and truth log about a finished placement.
void announce(const DeviceOp& op);

}  // namespace gpusim
