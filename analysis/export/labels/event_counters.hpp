// SPDX-License-Identifier: Apache-2.0
//
// The kinds as which a file's events are counted, and their labels.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing
// Not here: the counting (prescan.cpp); whole sentences of what is missing (missing_data.cpp)
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuprof::exporter {

/// Who found a step (model::Step::source).
enum class StepOrigin : std::uint32_t {
  kNone,
  kAuto,
  kUser,
  kLoop,
  kOptimizer,
  kNvtx,
  kKernel,
  kPeriod,
  kLoopOptimizer
};
std::string_view name_of(StepOrigin by);

/// Kinds of event as files and summaries count them.
enum class EventKind : std::uint32_t {
  kKernel,
  kMemCopy,
  kMemSet,
  kSync,
  kOverhead,
  kGraph,
  kApiCall,
  kOperator,
  kAllocation,
  kRange,
  kSpan,
  kMark,
  kStep,
  kSample,
  kCount
};
std::string_view name_of(EventKind kind);

/// Events left out of a file or written otherwise than asked for, with the reason.
enum class OmissionReason : std::uint32_t {
  kLaunchBeforeWindow,  // GPU events whose launch lies before the window
  kLaunchLost,          // GPU events whose launch lies in the window and is not there
  kNonNestingRange,     // push/pop ranges and operators that do not nest
  kDeepRange,           // push/pop ranges and operators below too many others
  kDeepModule,          // stacks whose inner calls of modules are not drawn
  kEnclosingRange,      // the same around whole steps
  kClippedAtWindow,     // ranges that reach over the window's border
  kRangeStillOpen,      // calls inside a range that had not ended when the file was written
  kUnsupportedDevice,   // device index beyond what the viewers take
  kNestedCall,          // host calls inside another with the same correlation id
  kDeepStack,           // samples deeper than is drawn
  kTruncatedName,       // names longer than is written
  kUserStepRange,       // ranges ProfilerStep# of the program that are not the file's steps
  kUnknownMemory,       // memory of devices that the viewers do not know
  kInputsDropped,       // sets of operator inputs for which there was no room
  kCount
};
/// What is said of so many, without their number.
std::string_view omission_message(OmissionReason kind, std::uint64_t count);

}  // namespace gpuprof::exporter
