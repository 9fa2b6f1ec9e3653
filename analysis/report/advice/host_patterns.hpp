// SPDX-License-Identifier: Apache-2.0
//
// Where the stepping thread was between its operators, and what it did how often.
//
// Context:  cli
// Owns:     nothing
// Promises: functions of the step thread alone; times are those inside of steps
// Not here: what is worth reporting (rules_*.cpp)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/advice/advice.hpp"
#include "analysis/report/step_thread/step_thread.hpp"

namespace gpuprof::report::advice {

/// What is asked of stacks again and again, worked out once.
struct StackFacts {
  FrameId user = 0;            // innermost frame of the program itself
  bool is_innermost = false;   // that one is the innermost of all: the operator was called there
  bool backward = false;       // inside a call of backward()
  bool creates_grads = false;  // inside the start of such a call
};
std::vector<StackFacts> stack_facts(const StepThread& step_thread);

/// Time between operators, between the same two lines of one function.
struct HostGap {
  FrameId before = 0, after = 0;              // of one function; 0: not known
  std::uint32_t op_before = 0, op_after = 0;  // names; of the longest one
  std::uint64_t count = 0, total_ns = 0, longest_ns = 0, median_ns = 0;
  std::uint64_t after_backward = 0;  // of these, what followed a backward pass of another thread
  /// Samples taken in these gaps, by line.
  struct LineSamples {
    FrameId frame = 0;
    std::uint64_t on_cpu = 0, off_cpu = 0;
  };
  std::vector<LineSamples> hits;  // most samples first
};
/// Inside of steps that count; without what lies in calls that wait for a
/// GPU, in a backward pass on another thread, or in collectives. Most time first; short ones are
/// left out of `hits`.
std::vector<HostGap> find_gaps(const StepThread& step_thread);

/// Operators of one name and equal inputs, one directly after the other in one function.
struct OpRun {
  std::size_t first = 0, last = 0;  // of StepThread::ops
  std::uint64_t start_ns = 0, end_ns = 0;
  FrameId line = 0;  // of the first
  std::uint64_t length() const { return last - first + 1; }
};
/// Three and more whose inputs were recorded, called from the program's own lines, inside steps.
std::vector<OpRun> find_runs(const StepThread& step_thread, const std::vector<StackFacts>& facts);

/// One backward pass, with the forward operators that built its graph.
struct BackwardPass {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint64_t forward_ns = 0;            // these operators and what lies between them
  std::size_t forward_op = 0;              // the first of them; == first: there are none
  std::int64_t lowest = -1, highest = -1;  // sequence numbers
  std::size_t first = 0, last = 0;         // of StepThread::ops, on the stepping thread
  FrameId line = 0;                        // that called backward()
  bool graph_retained = false;             // a later pass walks the same graph: it was retained
  bool before_optimizer = false;           // the last one before an optimizer's step
};
struct BackwardPasses {
  std::vector<BackwardPass> passes;
  std::uint64_t optimizer_steps = 0;
};
BackwardPasses find_passes(const StepThread& step_thread, const std::vector<StackFacts>& facts);

/// Host time of a step by line of the program, without collectives.
struct LineTime {
  std::string file, function;
  int line = 0, last_line = 0;
  std::uint64_t ns = 0;
};
std::vector<LineTime> line_times(const StepThread& step_thread,
                                 const std::vector<StackFacts>& facts);

/// What of [start, end) lies in collectives.
std::uint64_t collective_ns(const StepThread& step_thread, std::uint64_t start_ns,
                            std::uint64_t end_ns);

SourceLocation location_of(const StepThread& step_thread, FrameId frame);

}  // namespace gpuprof::report::advice
