// SPDX-License-Identifier: Apache-2.0
//
// The loops of code objects, found once each and remembered.
//
// Context:  callback
// Owns:     one mapping of remembered code objects, never unmapped
// Promises: no lock, no allocation; several threads may find the same code at once; bounded
// Not here: how loops are found (loop_scan.hpp), reading frames (fast_frames.hpp)
#pragma once

#include <cstdint>

#include "inject/python/loops/loop_scan.hpp"

namespace gpuprof::python {

/// What is remembered of a code object, in one line of the cache.
struct alignas(64) CodeLoops {
  std::uint64_t address;
  std::uint64_t id;       // PyCodeDef::id; without loops perhaps of earlier code at this address
  std::int32_t handlers;  // exception handlers lie from here to the end; kNoHandlers
  bool known;             // false: its instructions cannot be read
  bool yields;            // a generator or coroutine
  bool inserted;          // what specialised byte code puts between a class and its __init__
  std::uint16_t count;    // of `spans`
  const LoopSpan* spans;  // by target: a loop comes before those inside it

  /// Whether this serves for code found at the same address later.
  bool is_equivalent(const CodeLoops& other) const {
    if (id == other.id) return count == other.count;
    return count == 0 && other.count == 0 && handlers == other.handlers && known == other.known &&
           yields == other.yields && inserted == other.inserted;
  }

  /// Index of the innermost loop that holds every offset from `low` to `high`; -1: none.
  std::int32_t innermost(std::int32_t low, std::int32_t high) const {
    for (std::int32_t i = count - 1; i >= 0; --i)
      if (spans[i].target <= low && high <= spans[i].jump) return i;
    return -1;
  }
};

/// Loops of the code object at `code`, which a frame of the calling thread runs. Null: its version
/// is not known, somebody traces its lines, or there is no room for one more.
const CodeLoops* code_loops(std::uint64_t code);

/// Forgets every code object and gives the table's memory back. Nobody holds one. Worker.
void unmap_code_loops();

}  // namespace gpuprof::python
