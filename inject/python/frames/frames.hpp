// SPDX-License-Identifier: Apache-2.0
//
// Python frames of one thread, read from the interpreter's own structures without the GIL.
//
// Context:  find_runtime: worker; read_current_frames: signal | callback; read_remote_frames:
//           worker
// Owns:     nothing: borrows the interpreter's memory for the length of one read
// Promises: plain loads only in read_current_frames (the fault guard of inject/sample is around
//           it); sends each code object once per ring buffer epoch; an unknown version reads
//           nothing
// Not here: merging with native frames and line numbers (analysis/symbols)
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "gpuprof/wire/records.hpp"
#include "inject/hot/recorder.hpp"

namespace gpuprof::python {

/// Looks for an interpreter among the loaded modules. Worker; call again after modules changed, and
/// while is_runtime_pending(). True once found; then facts ("python.version", …) and, for versions
/// that cannot be read, one notice have been sent. One that can be read stays mapped from then on.
bool find_runtime();

/// Whether find_runtime() may find one although no module is added: somebody was inside dlopen, or
/// the program has not begun to use its interpreter. Worker.
bool is_runtime_pending();

/// Whether an interpreter we can read was found. Any context.
bool ready();

/// Y of the last 3.Y that was found, 0 if none; also between sessions. Any context.
int minor_version();

struct ReadResult {
  std::uint32_t count = 0;  // frames written, innermost first
  std::uint32_t flags = 0;  // wire::kStackPython…
};

/// Frames of the calling thread. Zero frames for a thread without Python state.
/// @param frames room for `room` entries.
ReadResult read_current_frames(const hot::Guard& guard, wire::PyFrame* frames, std::uint32_t room,
                               std::uint64_t ts_ns);

/// Frames of another thread of this process that is blocked in the kernel, through
/// process_vm_readv. The caller checks afterwards that the thread did not move.
ReadResult read_remote_frames(const hot::Guard& guard, pid_t tid, wire::PyFrame* frames,
                              std::uint32_t room, std::uint64_t ts_ns);

/// Forgets the interpreter and every code object, whose addresses may belong to others by the next
/// session; unmaps the table of loops. find_runtime() searches, and reports, anew. After
/// hot::unpublish_segment(); while a thread is inside, what it may read stays. Worker.
void release();

/// Forgets which thread has which state. Worker.
void reset_thread_states();

/// In the child of a fork: thread states of other threads are gone.
void after_fork_child();

}  // namespace gpuprof::python
