// SPDX-License-Identifier: Apache-2.0
//
// Sentences for the user, kept until the worker can send them.
//
// Context:  queue_notice, queue_fact: worker | boundary, under the component's lock;
//           send_queued_notices: worker
// Owns:     space for sixteen messages
// Promises: nothing is sent from a boundary; a message that finds no space is dropped
#pragma once

#include <cstdint>

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::cupti {

/// Keeps one sentence about CUDA tracing: what, why, what to do. printf-like.
[[gnu::format(printf, 3, 4)]] void queue_notice(wire::NoticeLevel level, std::uint32_t code,
                                                const char* format, ...);

/// Keeps one key = value of the trace's metadata. `key` must be a constant.
[[gnu::format(printf, 2, 3)]] void queue_fact(const char* key, const char* format, ...);

/// Sends what was kept.
void send_queued_notices();

/// Whether something is still kept at this moment. Any thread.
bool has_queued_notices();

/// Drops what was kept (a forked child).
void clear_queued_notices();

}  // namespace gpuprof::cupti
