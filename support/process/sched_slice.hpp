// SPDX-License-Identifier: Apache-2.0
//
// Short scheduler slices for a thread that wakes often and must run soon.
//
// Context:  daemon
// Promises: no more of a processor than its share; threads and processes it makes are as others;
//           needs no privilege
#pragma once

#include <cstdint>

namespace gpuprof::support {

/// Asks the kernel to give the calling thread its share in slices of `slice_ns`, so that it need
/// not wait for others to use up theirs (3 ms as a rule) when it wakes on a busy machine.
/// @return false: not an ordinary thread, or the kernel refused. Kernels before 6.12 take it for
///         granted and change nothing.
bool set_sched_slice(std::uint64_t slice_ns);

}  // namespace gpuprof::support
