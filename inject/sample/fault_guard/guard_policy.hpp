// SPDX-License-Identifier: Apache-2.0
//
// Decides in which programs we must not install a fault handler in front of the program's own.
//
// Context:  worker
#pragma once

#include <cstdint>

namespace gpuprof::sample {

/// Arms the guard where it is not yet, at each tick, or releases it.
///
/// @param own_threads  The program creates threads that cannot run a handler of ours (Go without
/// cgo).
/// @param left         Whether it was released already; kept by the caller.
/// @return null: armed; else why not, for the trace.
const char* update_guard(bool own_threads, bool* left);

/// Whether the guard may be armed already: the time is over in which a runtime queries what is done
/// with faults. A program whose main thread gets no processor begins later than the clock says.
///
/// @param from_ns  CLOCK_MONOTONIC; 0: it may.
bool program_has_begun(std::uint64_t from_ns);

}  // namespace gpuprof::sample
