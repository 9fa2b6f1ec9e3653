// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's two buffer callbacks: hand out a buffer; copy, stamp and push what comes back.
//
// Context:  callback (any thread, several at once, also after we stopped)
// Owns:     nothing: buffers belong to the pool
// Promises: no CUPTI call but the iterator; every record read is pushed, or dropped and
//           counted, or of a kind that was not requested
// Not here: field offsets (translate.hpp), who accepts when (cupti_state.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "inject/cupti/library/api.hpp"

namespace gpuprof::cupti {

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                               std::size_t bytes, std::size_t valid_bytes);

/// Whether completed buffers are translated at this time.
bool accepting(std::uint64_t now_ns);

}  // namespace gpuprof::cupti
