// SPDX-License-Identifier: Apache-2.0
//
// kernel:REGEX as a step source: launches look a name up, the worker matches new names.
//
// Context:  on_kernel_launch: callback; the rest: worker
// Owns:     the compiled expression and the table of names (mapped once, never unmapped)
// Promises: a launch never runs the expression; a full table only means that a name is passed to
//           the worker again at its next launch
// Not here: the step counter (hot/steps.hpp)
#pragma once

#include <atomic>
#include <cstdint>

#include "inject/hot/recorder.hpp"

namespace gpuprof::cupti {

/// Longest name the worker matches; the rest is cut off.
inline constexpr std::uint32_t kStepNameBytes = 4080;
inline constexpr std::uint32_t kStepNames = 4096;
inline constexpr std::uint32_t kWaitingNames = 64;

enum class MatchState : std::uint32_t { kNew = 0, kPending = 1, kNoMatch = 2, kMatch = 3 };

struct StepName {
  std::atomic<std::uint64_t> id;       // of the string; 0: free
  std::atomic<std::uint32_t> verdict;  // MatchState
  std::uint32_t reserved;
};
/// A name on its way to the worker.
struct PendingName {
  std::atomic<std::uint32_t> state;  // 0 free, 1 being written, 2 ready
  std::uint32_t bytes;
  StepName* entry;
  char text[kStepNameBytes];
};
struct StepTable {
  StepName names[kStepNames];
  PendingName waiting[kWaitingNames];
};
extern std::atomic<StepTable*> g_step_table;

/// A kernel is about to be launched on this thread.
void on_kernel_launch(const hot::Guard& guard, const char* name, std::uint64_t now_ns);

/// POSIX extended expression; empty: none. False: not valid, the old one stays.
bool set_expression(const char* expression);

/// Matches names that callbacks left and sends the results.
void match_pending(std::uint64_t now_ns);

/// "_ZN2at6native6kernelIfEEvT_" → "at::native::kernel"; a name that is not mangled is returned
/// as it is. Template arguments end the name. @return bytes written, without a NUL.
std::uint32_t qualified_name(const char* mangled, std::uint32_t bytes, char* to,
                             std::uint32_t room);

}  // namespace gpuprof::cupti
