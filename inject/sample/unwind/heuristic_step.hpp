// SPDX-License-Identifier: Apache-2.0
//
// Frames of code that no unwind table covers: trampolines, other generated code, assembler.
//
// Context:  signal | callback, worker (for a copied stack)
// Promises: memory is read only through the caller's function; a caller that is found lies in code
//           that is known, behind a call instruction
//
// What is tried, in this order. The instructions that come next, where they do nothing but leave
// the function: they are followed to its return (trampolines of CPython, ends of functions). A
// function that has just been entered. A frame as large as its function makes it, below the return
// from a call of that function. A return address on top of the stack (code without a frame
// of its own). The frame pointer, which V8, CPython's frame-pointer builds and many others keep.
#pragma once

#include <cstdint>

namespace gpuprof::sample {

/// `interrupted`: pc is about to run; otherwise it is a return address.
struct FrameRegisters {
  std::uint64_t pc, sp, fp;
  bool interrupted;
};

/// What its caller provides.
struct CodeAccess {
  /// Reads one aligned word of any address; false where it cannot be read.
  bool (*read)(void* from, std::uint64_t address, std::uint64_t* word);
  /// Whether the address lies in executable memory that is known.
  bool (*is_code)(void* from, std::uint64_t address);
  void* from;
  /// Whether it lies in code of the Go toolchain, which keeps frames and ends goroutines in its own
  /// way. Null: no.
  bool (*is_go)(void* from, std::uint64_t address) = nullptr;
};

enum class StepResult : std::uint8_t {
  kLost,
  kCertain,         // the instructions said so
  kLikely,          // by the frame pointer
  kMayHaveSkipped,  // the same, and a caller may have been passed over
};

/// Takes `frame` to its caller. It is changed only where something is found.
StepResult step_without_tables(const CodeAccess& code, FrameRegisters* frame);

/// Whether the instruction before `address` is a call, so that a call may return there.
bool is_return_address(const CodeAccess& code, std::uint64_t address);

}  // namespace gpuprof::sample
