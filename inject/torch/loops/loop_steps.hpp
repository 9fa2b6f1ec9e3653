// SPDX-License-Identifier: Apache-2.0
//
// Loops of the Python program, seen from its top-level operators: where iterations begin.
//
// Context:  callback
// Owns:     per thread, the frames of the last top-level operator
// Promises: no lock, no allocation; a thread it has no room for has no steps
// Not here: how iterations are seen (iterations.hpp), which loop is the step (the daemon chooses),
//           reading frames (frames/fast_frames.hpp)
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/python/frames/fast_frames.hpp"

namespace gpuprof::torch {

/// What is known of a top-level operator as it begins.
struct TopLevel {
  std::uint64_t ts_ns;
  std::uint64_t name_id;             // base::hash_bytes of its name
  std::uint64_t stack_id;            // of its StackDef; 0: none was made of its frames
  const python::QuickFrame* frames;  // innermost first
  std::uint32_t frame_count;
  std::uint32_t module_level;  // level (0 outermost) of the outermost module call; ~0: none
  bool engine;                 // name begins with autograd::engine::
  bool loader = false;         // name begins with enumerate(DataLoader)
  bool optimizer = false;      // name begins with Optimizer.step#
};

/// Which source of steps was asked for. Worker.
void look_for_steps(wire::StepSource source);

/// Compares with the last one of this thread. Tells iterations (LoopDef, StackLoops, LoopMark),
/// or, once the daemon has chosen, counts steps (StepMark). Before the operator's OpBegin.
void top_level_begins(const hot::Guard& guard, const TopLevel& op);

/// The end of a top-level operator, for StepRule::kOpEnd. After its OpEnd.
void top_level_ends(const hot::Guard& guard, std::uint64_t name_id, std::uint64_t ts_ns);

/// A ProfilerStep#K range of the program's own begins or ends: always a step.
void user_step_begins(const hot::Guard& guard, std::uint64_t k, std::uint64_t ts_ns);
void user_step_ends(const hot::Guard& guard, std::uint64_t k, std::uint64_t ts_ns);

/// In the child of a fork. Boundary.
void forget_loops_after_fork();

/// Once no thread is inside a Guard, nor can come. Worker.
void unmap_loops();

}  // namespace gpuprof::torch
