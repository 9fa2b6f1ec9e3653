// SPDX-License-Identifier: Apache-2.0
//
// Where no handler of ours may stand in front of the program's for faults.
//
// Context:  worker
// Owns:     nothing
#pragma once

namespace gpuprof::sample {

/// Arms the guard where it is not yet, at each tick, or lets go of it.
///
/// @param own_threads  The program makes threads that stand no handler of ours (Go without cgo).
/// @param left         Whether it was let go of already; kept by the caller.
/// @return null: armed; else why not, for the trace.
const char* watch_guard(bool own_threads, bool* left);

}  // namespace gpuprof::sample
