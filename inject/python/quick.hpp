// SPDX-License-Identifier: Apache-2.0
//
// The calling thread's Python frames as addresses only: cheap enough for every operator.
//
// Context:  callback (the thread is inside a C call, so its own frames stand still)
// Owns:     nothing
// Promises: plain loads, nothing is sent; an unknown version reads nothing
// Not here: names and line tables of code objects (walk.hpp)
#pragma once

#include <cstdint>

namespace gpuprof::python {

/// One frame of a running evaluation.
struct QuickFrame {
  std::uint64_t frame;        // address of the interpreter's frame
  std::uint64_t code;         // address of its code object; 0: an interpreter-entry shim
  std::int32_t instr_offset;  // bytes from the start of the byte code, as wire::PyFrame has it
  std::uint32_t flags;        // wire::kPyShim, kPyEntry

  bool operator==(const QuickFrame&) const = default;
};

/// Frames of the calling thread, innermost first; 0 for a thread without Python state.
std::uint32_t quick_frames(std::uint32_t tid, QuickFrame* frames, std::uint32_t room);

/// A backward jump of a code object: a loop. Offsets are bytes from the start of the byte code.
struct JumpSpan {
  std::int32_t target;  // where the loop's head is
  std::int32_t jump;    // the jump's own instruction
};

/// Backward jumps of the code object at `code`, found once and kept; at most `*count`.
/// Null for a version whose byte code is not known, or when the table of codes is full.
const JumpSpan* backward_jumps(std::uint64_t code, std::uint32_t* count);

}  // namespace gpuprof::python
