// SPDX-License-Identifier: Apache-2.0
//
// What a stream cannot place yet: a queue for each stream, and the pump that empties them.
//
// Context:  application threads and one helper thread
// Owns:     queued items until they are placed; the helper thread, from the first item on
// Promises: items of a stream are placed, done and announced in order; default-stream rules hold
//           across queues; with nothing queued the cost is one load
// Not here: times (timeline.cpp), what collectives wait for (collective.hpp)
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "core/objects.hpp"

namespace gpusim {

/// Decides when an operation ends that does not end by itself. All calls come from the pump, one at
/// a time.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// The operation's turn has come: it starts at `start_ns`. Called again until it gives true.
  virtual bool arrive(std::uint64_t start_ns) = 0;
  /// Whether the end is known. Called after `arrive` gave true.
  virtual bool resolved(std::uint64_t* end_ns) = 0;
  /// Does what the operation does to memory. No lock is held.
  virtual void complete() {}
};

/// One waiting thing.
struct QueueItem {
  std::uint64_t order = 0;  ///< of enqueue, over all streams
  virtual ~QueueItem() = default;
  /// Fixes the times if they can be known, else gives false. The device mutex is held.
  virtual bool place(Stream* stream) = 0;
  /// Effects and announcements. No lock is held.
  virtual void finish() {}
};

/// Whether new work on `stream` has to queue behind something. Caller holds the device mutex.
bool must_queue(const Stream* stream);
/// Adds an item. Caller holds the device mutex; call `pump` after releasing it.
void append(Stream* stream, std::unique_ptr<QueueItem> item);

/// Places everything that can be placed. No lock may be held.
void pump();

/// Waits until everything queued before this call on `stream` is placed.
void drain_stream_queue(Stream* stream);
/// The same for all streams of a context.
void drain_context_queues(Context* context);

/// Sleeps between two looks at something that others decide; longer the more often it was called.
class Backoff {
 public:
  void wait();

 private:
  std::uint32_t sleep_us_ = 20;
};

/// Runs `function` on the host-function worker once `due_ns` has passed; `*done_ns` becomes
/// non-zero when it has returned.
void run_host_function(const HostFunction& function, std::uint64_t due_ns,
                       std::shared_ptr<std::atomic<std::uint64_t>> done_ns);

/// Starts a thread of the simulator: all signals blocked, never joined.
void start_helper(const char* name, void* (*body)(void*));

}  // namespace gpusim
