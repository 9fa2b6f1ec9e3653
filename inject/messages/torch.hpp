// SPDX-License-Identifier: Apache-2.0
//
// Notices about PyTorch (docs/messages.md has the rules of their wording). printf formats.
//
// Context:  any
#pragma once

namespace gpuprof::messages::torch {

// %s: version
inline constexpr char kNoOperators[] =
    "no PyTorch operators in the trace: PyTorch %s does not export the functions that gpuprof "
    "needs; 2.1 or later does";
// %s: version, reason
inline constexpr char kUnknownLayout[] =
    "operators have names and times, but no sequence numbers, shapes or forward/backward links: "
    "the layout of PyTorch %s is not known (%s)";
inline constexpr char kNoPythonStacks[] =
    "operators have no Python stacks and no modules, and no loop is detected as the step: the "
    "frame layout of this Python differs from that of its version";
inline constexpr char kNoCpuMemory[] =
    "PyTorch's memory on the CPU is not recorded, but that on GPUs is: the program ran before the "
    "recording of memory was requested; start it with `gpuprof run` to record both";

// Reasons of an unknown layout; also values of the fact torch.layout
inline constexpr char kProbeName[] = "it returns another name for a range";
inline constexpr char kProbeSequence[] = "the sequence number is not at the expected place";
inline constexpr char kProbeScope[] = "the scope is not at the expected place";
inline constexpr char kProbeThread[] = "the thread id is not at the expected place";
inline constexpr char kProbeNameKind[] = "it stores names in another way";
inline constexpr char kProbeInputs[] = "the inputs are not at the expected place";
inline constexpr char kProbeForwardThread[] = "the forward thread is not at the expected place";
inline constexpr char kProbeFunctions[] =
    "it does not export the functions that a trial range needs";
inline constexpr char kProbeNotReported[] = "it did not report a trial range";

}  // namespace gpuprof::messages::torch
