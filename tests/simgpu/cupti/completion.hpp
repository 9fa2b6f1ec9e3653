// SPDX-License-Identifier: Apache-2.0
//
// Handing one buffer back to the client, with every awkward way of doing so.
//
// Context:  application threads and the worker
// Owns:     a Buffer passed to it
// Promises: the client's completion callback is called once per buffer
// Not here: filling buffers (buffers.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpusim {

/// One client buffer.
struct Buffer {
  int client;
  std::uint8_t* data;
  std::size_t size, used;
  std::size_t records, max_records;
  std::vector<char*> names;  ///< copies to be spoilt after completion (names-freed)
};

/// Hands `buffer` back as the scenarios want it and frees our bookkeeping.
void return_buffer(Buffer* buffer);

/// Hands two buffers back at the same time on two threads; `second` may be null.
void complete_pair(Buffer* first, Buffer* second);

/// Called when the client believes that it is done: hands back what complete-after-shutdown kept,
/// later.
void after_shutdown();

/// Starts a thread that asks for a buffer and completes it empty until the process is gone
/// (request-during-exit).
void start_endless_requests();

}  // namespace gpusim
