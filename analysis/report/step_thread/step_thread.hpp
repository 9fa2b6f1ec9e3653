// SPDX-License-Identifier: Apache-2.0
//
// What the thread that steps did, one outermost operator after the other: what rules of advice look
// at where tables do not say enough.
//
// Context:  cli
// Owns:     its lists: 64 bytes an outermost operator, 24 a block of memory or backward node
// Promises: `ops` are in order of time and do not overlap; all times CLOCK_MONOTONIC ns
// Not here: how it is gathered (step_thread_builder.hpp), what follows from it (rules_*.cpp)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/timeline/stack_table.hpp"

namespace gpuprof::report::advice {

enum class StepThreadOpKind : std::uint8_t { kPlain, kLoader, kOptimizer, kEvaluate };

struct StepThreadOp {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint64_t wait_ns = 0;   // of it, in calls that wait for a GPU
  std::uint32_t wait_ops = 0;  // how many such calls
  std::int64_t sequence = -1;
  std::uint32_t name = 0, inputs = 0, stack = 0;  // of StepThread; inputs: equal ids, equal inputs
  StepThreadOpKind kind = StepThreadOpKind::kPlain;
};

struct TimedStep {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t tid = 0;
  std::uint64_t label = 0;
  std::uint64_t length_ns() const { return end_ns - start_ns; }
};

/// A call that waited for a GPU, outside of every operator.
struct GpuWait {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t name = 0, stack = 0;
};
struct ThreadSample {
  std::uint64_t ts_ns = 0, weight_ns = 0;
  std::uint32_t stack = 0;
  bool blocked = false;
  bool waits_for_gil = false;  // it waits for Python's lock (GIL), by its native frames
  std::uint32_t tid = 0;
};
struct MemoryBlockEvent {
  std::uint64_t ts_ns = 0, address = 0;
  std::int64_t bytes = 0;  // negative: given back
};
/// A node of the backward pass that ran on another thread.
struct BackwardNode {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::int64_t sequence = -1;
};

/// Loading or compiling of device code, by CUPTI's own account.
struct CuptiOverhead {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t name = 0;
};
/// A collective, on whichever thread.
struct CollectiveSpan {
  std::uint64_t start_ns = 0, end_ns = 0;
};

struct StepThread {
  std::vector<std::string> names{""};
  StackTable places;               // Python frames only
  std::vector<TimedStep> steps;    // without warm-up steps
  std::vector<TimedStep> warm_up;  // the program's first ones, where they are slow
                                   // (aggregation/warm_up_steps.hpp)
  std::vector<StepThreadOp> ops;
  std::vector<GpuWait> waits;
  std::vector<ThreadSample> samples;
  std::vector<ThreadSample>
      other_thread_samples;  // of other threads that ran Python while steps took long
  std::vector<MemoryBlockEvent> blocks;
  std::vector<BackwardNode> backward;
  std::vector<CuptiOverhead> overheads;
  std::vector<CollectiveSpan> collectives;  // do not overlap
  std::string loop;                         // file:line of the loop whose iterations the steps are
  bool is_synthetic = false;                // no step was recorded: one around everything
  std::uint64_t start_real_ns = 0;          // CLOCK_REALTIME at the first step; 0: not known

  std::uint64_t total_step_ns() const {
    std::uint64_t sum = 0;
    for (const TimedStep& step : steps) sum += step.length_ns();
    return sum;
  }
};

/// What of [start, end) lies in steps. `at` is where to look first and moves on with the times.
std::uint64_t overlap_with_steps(const StepThread& step_thread, std::size_t* at,
                                 std::uint64_t start_ns, std::uint64_t end_ns);

}  // namespace gpuprof::report::advice
