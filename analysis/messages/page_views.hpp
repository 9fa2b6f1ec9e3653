// SPDX-License-Identifier: Apache-2.0
//
// Notes in the views of the page of `gpuprof report --html` (docs/messages.md has the rules of
// their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::page_views {

// Tables
inline constexpr char kKernels[] =
    "One row for each kernel name, launch shape and launching operator. Tensor cores: recognised "
    "by the kernel's name.";
inline constexpr char kOperators[] =
    "Self: without the operators called inside. GPU: time of the work launched by the operator.";
inline constexpr char kLines[] = "Everything that ran below a line of the program's own code.";
inline constexpr char kModules[] =
    "Calls of nn.Module, derived from the operators in them: each lasts from its first operator to "
    "its last. Self: without inner modules.";

// Cells
inline constexpr char kNoOperatorOrEarlier[] = "(no operator, or allocated before the recording)";
inline constexpr char kRecordedByOther[] = "another profiler; the figures are from its trace file";
inline constexpr char kSimulatedGpu[] = "simulated; its times are invented";

// Flame graphs
inline constexpr char kSmallerFrames[] = "(smaller frames)";
inline constexpr char kCpuTime[] =
    "CPU time of running threads, estimated from samples of their stacks: Python code, native code "
    "and operators.";
inline constexpr char kCpuSamples[] =
    "Samples of running threads. The time that a sample stands for is not known.";
inline constexpr char kOffCpuSamples[] = "Samples of threads that were waiting.";
inline constexpr char kGpuTime[] =
    "Time of kernels, memory copies and memory sets, below the stacks and operators that launched "
    "them.";

}  // namespace gpuprof::messages::page_views
