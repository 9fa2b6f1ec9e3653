// SPDX-License-Identifier: Apache-2.0
//
// Messages of the ingest component: shared memory, clocks, steps, lost names (docs/messages.md has
// the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::ingest {

// Shared memory. {}: system call, reason
inline constexpr char kCannotCreateSegment[] = "cannot create shared memory for a process: {}: {}";
inline constexpr char kSegmentTooLarge[] =
    "cannot create shared memory for a process: {}: {}; raise the limit on file sizes (ulimit -f)";
// {}: reason
inline constexpr char kCannotMapSegment[] = "cannot map shared memory for a process: {}";

// Clocks. {}: milliseconds; a clock
inline constexpr char kSystemClockSet[] =
    "the system clock was set by {} ms during the recording; gpuprof converts GPU times before and "
    "after that with separate offsets";
inline constexpr char kCuptiClockChanged[] =
    "the program, or a profiler in it, changed CUPTI's clock to {} during the recording; gpuprof "
    "converts the GPU times of each clock separately";
inline constexpr char kNanosecondClock[] = "a nanosecond clock";
inline constexpr char kTimeStampCounter[] = "the time-stamp counter";
inline constexpr char kUnknownClock[] = "an unknown clock";
// The fact about a clock. {}: clock, tick in ns, begin, number of snapshots, error in ns; of a
// fitted one, behind the tick, accuracy in ppm and distance in seconds
inline constexpr char kClock[] =
    "{}, 1 tick = {:.10g} ns; since {}, {} snapshots, off by {} ns at most";
inline constexpr char kFittedClock[] =
    "{}, 1 tick = {:.10g} ns (to {:.2g} ppm, from snapshots {:.3g} s apart); since {}, {} "
    "snapshots, off by {} ns at most";

// What the steps are, of "steps: 60 {}". {}: where or what, confidence in percent
inline constexpr char kRepetitions[] = "repetitions of the same operators, confidence {} %";
inline constexpr char kUpdates[] = "updates, each ending with {}, confidence {} %";
inline constexpr char kAnOptimizer[] = "an optimizer";
inline constexpr char kIterations[] = "iterations of the loop {}, confidence {} %";
inline constexpr char kGraphIterations[] =
    "iterations of the loop {} (replays CUDA graphs), confidence {} %";
inline constexpr char kOptimizerIterations[] =
    "iterations of the loop {} (with Optimizer.step), confidence {} %";
inline constexpr char kAtLocation[] = "at {}";
inline constexpr char kInUnknownCode[] = "in unknown code";
inline constexpr char kProfilerSteps[] = "ProfilerStep# ranges of the program";
// {}: what they were before, step, what they are now
inline constexpr char kStepsChanged[] = "{}; from step {} on ";
inline constexpr char kStepsFrom[] = "from step {} on ";
// {}: what they are
inline constexpr char kStepsAnd[] = "{}; ";
// {}: number, milliseconds
inline constexpr char kUnattributedPause[] =
    "1 pause of {} ms between two operators may belong to the next step: nothing was recorded in "
    "it";
inline constexpr char kUnattributedPauses[] =
    "{} pauses between two operators, {} ms in total, may belong to the next step: nothing was "
    "recorded in them";

// Names of what was lost
inline constexpr char kNameLost[] = "(name lost)";
inline constexpr char kTooManyNames[] = "(too many names)";
inline constexpr char kCodeLost[] = "(code object lost)";
inline constexpr char kTooManyCodes[] = "(too many code objects)";
inline constexpr char kModuleLost[] = "(module lost)";
inline constexpr char kTooManyModules[] = "(too many modules)";

}  // namespace gpuprof::messages::ingest
