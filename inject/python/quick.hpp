// SPDX-License-Identifier: Apache-2.0
//
// The calling thread's Python frames as addresses only: cheap enough for every operator.
//
// Context:  callback (the thread is inside a C call, so its own frames stand still)
// Owns:     nothing
// Promises: plain loads, nothing is sent; an unknown version reads nothing
// Not here: names and line tables of code objects (walk.hpp), their loops (jumps.hpp)
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

}  // namespace gpuprof::python
