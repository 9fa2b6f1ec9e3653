// SPDX-License-Identifier: Apache-2.0
//
// The loops of one piece of byte code, from its backward jumps.
//
// Context:  any (signal-safe)
// Promises: never reads past `bytes`; spans nest: two either lie apart or one holds the other
// Not here: where byte code lies and how long it is remembered (code_loops.hpp)
#pragma once

#include <cstdint>

namespace gpuprof::python {

/// What an opcode means for loops; the high half of an entry of jump_table.hpp.
enum class JumpRole : std::uint8_t {
  kPlain,
  kExtended,
  kBackward,    // always jumps, backward
  kBackwardIf,  // may jump, backward (3.11)
  kAbsolute,    // to an absolute place, always or not (before 3.11)
  kAbsoluteIf,
  kForwardIf,
  kForIter,   // leaves a loop forward
  kExecutor,  // replaces a backward jump; its argument is something else
  kHidden,    // replaces any instruction (somebody traces lines or instructions)
  kHandler,   // first instruction of an exception handler
  kThrow,     // of an `await`: what follows it leaves a handler
  kAsyncEnd,  // its handler runs at the end of every `async for`
  kYield,
};

/// A loop. Offsets are bytes from the start of the byte code.
struct LoopSpan {
  std::int32_t target;  // where the loop's head is
  std::int32_t jump;    // its last instruction that jumps back to it
  std::int32_t body;    // of a `for`, whose iterator lies on the frame's stack: what follows its
                        // head; 0 for other loops

  bool iterates() const { return body != 0; }
  bool holds(std::int32_t offset) const { return target <= offset && offset <= jump; }
  bool operator==(const LoopSpan&) const = default;
};

/// Loops considered in one piece of byte code; further ones are ignored.
inline constexpr std::uint32_t kMaxSpans = 128;
/// No exception handlers set apart from the rest.
inline constexpr std::int32_t kNoHandlers = 0x7fffffff;

struct LoopScan {
  bool known = false;  // false: a version or an instruction that cannot be read
  bool yields = false;
  std::int32_t handlers = kNoHandlers;  // exception handlers lie from here to the end (3.12+)
  std::uint32_t count = 0;
  LoopSpan spans[kMaxSpans];  // by target: a loop comes before those inside it
};

/// Finds the loops.
///
/// An exception handler that continues the program jumps backward where handlers lie behind
/// everything else; such a jump is no loop, nor is the one inside an `await`.
///
/// @param minor Y of 3.Y.
/// @param code  `bytes` bytes; instructions may be specialised or instrumented.
void scan_loops(std::uint32_t minor, const std::uint8_t* code, std::int32_t bytes, LoopScan* out);

}  // namespace gpuprof::python
