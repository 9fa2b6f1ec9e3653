// SPDX-License-Identifier: Apache-2.0
//
// The mixed stack of the calling thread, taken inside an API callback.
//
// Context:  callback
// Promises: no libc dl_iterate_phdr, no lock another context could want; 0.5-2 us when warm
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"

namespace gpuprof::sample {

/// Unwinds here, reads Python frames, sends the definition if this ring buffer has not seen it.
/// A stack that was taken before and has not changed is only compared (launch_stack_cache.hpp).
/// @param what  Distinguishes this call from others that a thread makes at the same depth of its
///              stack, where that is cheap to know.
/// @return the stack id, 0 if no stack could be taken (counted).
std::uint64_t capture_launch_stack(const hot::Guard& guard, std::uint64_t what,
                                   std::uint64_t ts_ns);

}  // namespace gpuprof::sample
