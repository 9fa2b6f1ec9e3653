// SPDX-License-Identifier: Apache-2.0
//
// Loops of the Python program, seen from its top-level operators: where iterations begin.
//
// Context:  callback
// Owns:     per thread, the frames of the last top-level operator
// Promises: no lock, no allocation; a thread it has no room for has no steps
// Not here: how iterations are detected (iterations.hpp), which loop is the step (the daemon
//           chooses), reading frames (frames/fast_frames.hpp)
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/python/frames/fast_frames.hpp"

namespace gpuprof::torch {

/// What is known of a top-level operator as it begins.
struct TopLevelOp {
  std::uint64_t ts_ns;
  std::uint64_t name_id;            // base::hash_bytes of its name
  std::uint64_t stack_id;           // of its StackDef; 0: none was made of its frames
  const python::FastFrame* frames;  // innermost first
  std::uint32_t frame_count;
  std::uint32_t module_level;   // level (0 outermost) of the outermost module call; ~0: none
  bool is_autograd_engine;      // name begins with autograd::engine::
  bool is_data_loader = false;  // name begins with enumerate(DataLoader)
  bool is_optimizer = false;    // name begins with Optimizer.step#
};

/// Which source of steps was requested. Worker.
void set_step_source(wire::StepSource source);

/// Compares with the last one of this thread. Reports iterations (LoopDef, StackLoops, LoopMark),
/// or, once the daemon has chosen, counts steps (StepMark). Before the operator's OpBegin.
void on_top_level_begin(const hot::Guard& guard, const TopLevelOp& op);

/// The end of a top-level operator, for StepRule::kOpEnd. After its OpEnd.
void on_top_level_end(const hot::Guard& guard, std::uint64_t name_id, std::uint64_t ts_ns);

/// One of the program's own ProfilerStep#K ranges begins or ends: always a step.
void on_user_step_begin(const hot::Guard& guard, std::uint64_t k, std::uint64_t ts_ns);
void on_user_step_end(const hot::Guard& guard, std::uint64_t k, std::uint64_t ts_ns);

/// In the child of a fork. Boundary.
void reset_loops_after_fork();

/// Once no thread is inside a Guard, nor can get there. Worker.
void unmap_thread_loops();

}  // namespace gpuprof::torch
