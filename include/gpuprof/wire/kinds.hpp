// SPDX-License-Identifier: Apache-2.0
//
// The kinds of records that travel in ring buffers, and the limits of what one may carry.
//
// Context:  any
// Not here: the records themselves (records.hpp)
#pragma once

#include <cstdint>

namespace gpuprof::wire {

/// Longest text of a StringDef; longer ones are cut at a UTF-8 character boundary and flagged.
/// Kernel names of PyTorch's own libraries have up to 4,600 bytes.
inline constexpr std::uint32_t kMaxTextBytes = 16320;
/// Longest file or function name of a Python code object.
inline constexpr std::uint32_t kMaxNameBytes = 4096;
/// Deepest native stack sent.
inline constexpr std::uint32_t kMaxNativeFrames = 256;
/// Deepest Python stack sent.
inline constexpr std::uint32_t kMaxPythonFrames = 256;
/// Longest Python line table sent; with a longer one frames show line 0.
inline constexpr std::uint32_t kMaxLineTableBytes = 12288;

/// Value on the wire; never reuse one.
enum class Kind : std::uint16_t {
  kPad = 0,  // filler before the wrap; carries nothing
  kRingOpen = 1,
  kLost = 2,
  kStringDef = 3,
  kStackDef = 4,
  kPyCodeDef = 5,
  kSample = 6,
  kStepMark = 7,
  kRangePush = 10,
  kRangePop = 11,
  kRangeStart = 12,
  kRangeEnd = 13,
  kNvtxMark = 14,
  kLaunch = 20,
  kApiCall = 21,
  kKernelExec = 22,
  kMemCopy = 23,
  kMemSet = 24,
  kSync = 25,
  kOverhead = 26,
  kContextInfo = 27,
  kStreamInfo = 28,
  kDeviceInfo = 29,
  kGraphExec = 30,
  kJit = 31,
  kClockSync = 40,
  kUnmatchedLaunch = 41,
  kKernelNameMatch = 42,
  kOpBegin = 50,
  kOpEnd = 51,
  kInputsDef = 52,
  kTorchModuleDef = 53,
  kAllocation = 54,
  kLoopDef = 55,
  kStackLoops = 56,
  kLoopMark = 57,
};

}  // namespace gpuprof::wire
