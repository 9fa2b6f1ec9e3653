// SPDX-License-Identifier: Apache-2.0
//
// The rule by which iterations of loops are detected: two top-level operators' stacks are compared.
//
// Context:  callback
// Promises: no lock, no allocation; looks only into code objects of the frames it is given
// Not here: what is sent or counted (loop_steps.cpp), the loops of a code object
//           (python/loops/code_loops.hpp)
#pragma once

#include <cstdint>

#include "inject/python/loops/code_loops.hpp"
#include "inject/python/loops/loop_state.hpp"
#include "inject/torch/loops/loop_steps.hpp"

namespace gpuprof::torch {

/// A loop around an operator, or one whose iteration it begins.
struct ActiveLoop {
  std::uint32_t level;  // of its frame, 0 outermost
  std::uint32_t depth;  // the same without what comes and goes as byte code is specialised
  std::uint32_t flags;  // wire::kMark…
  const python::CodeLoops* code;
  python::LoopSpan span;

  /// LoopDef::id.
  std::uint64_t id() const;
};

/// The largest number of loops around one operator that are considered.
inline constexpr std::uint32_t kMaxLoops = 32;
/// Operators with deeper stacks are ignored.
inline constexpr std::uint32_t kMaxLevels = 192;

/// How the program is inspected; tests have their own.
struct FrameProbes {
  const python::CodeLoops* (*loops)(std::uint64_t code) = python::code_loops;
  void (*state)(const python::FastFrame& frame, std::uint32_t loops,
                python::LoopState* out) = python::read_loop_state;
};

/// The last top-level operator of one thread. Zeroed memory is a valid one.
class Iterations {
 public:
  /// Compares with the last operator and becomes this one.
  ///
  /// @param op    Has 1 … kMaxLevels frames.
  /// @param begun Loops whose iteration begins now, outer first; room for kMaxLoops.
  /// @return      How many.
  std::uint32_t next(const TopLevelOp& op, const FrameProbes& look, ActiveLoop* begun);

  /// Loops around the last operator, innermost first; room for kMaxLoops.
  std::uint32_t around(ActiveLoop* loops) const;

  /// Nothing came before. Keeps the pages of the array untouched.
  void forget() {
    count_ = 0;
    for (Paused& one : paused_) one = Paused{};
  }

 private:
  struct Level {
    std::uint64_t frame, code, code_id;
    std::int32_t at;  // where it counts as being: in an exception handler, where it was before
    std::int32_t actual_at;  // where it is
    std::uint32_t depth;     // ActiveLoop::depth
    bool yields;
    bool in_loop;
    bool stored;                     // in a global variable, since the operator before
    const python::CodeLoops* loops;  // of `code`; null: cannot be read
    python::LoopState state;         // if in_loop
  };
  /// A generator's frame while something else runs.
  struct Paused {
    std::uint64_t frame, code;
    std::int32_t at;
  };
  static constexpr std::uint32_t kMaxPaused = 8;

  class Comparison;
  void pause(const Level& level);
  const Paused* paused(const python::FastFrame& frame) const;

  std::uint32_t count_ = 0;
  std::uint32_t next_paused_ = 0;
  std::uint64_t first_name_ = 0;  // of the first operator with this very stack
  Level levels_[kMaxLevels] = {};
  Paused paused_[kMaxPaused] = {};
};

}  // namespace gpuprof::torch
