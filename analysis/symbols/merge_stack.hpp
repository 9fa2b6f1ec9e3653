// SPDX-License-Identifier: Apache-2.0
//
// One list of frames from a native and a Python stack of the same instant.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: never fails; every Python frame given comes out once, in order
// Not here: names (stack_symbolizer.hpp)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "recording/model/events.hpp"

namespace gpuprof::symbols {

/// What a native frame is to the merge.
enum class NativeRole : std::uint8_t {
  kVisible,
  kEval,                // runs byte code: stands for a run of Python frames
  kInterpreter,         // inside the interpreter: hidden where Python frames are shown
  kInterpreterUnnamed,  // the same without a symbol: may be the cold part of the eval function
  kHidden,              // our own and the driver's
};

struct MergedFrame {
  bool python;
  std::uint32_t index;  // into the Python or the native frames

  bool operator==(const MergedFrame&) const = default;
};

struct MergedStack {
  std::vector<MergedFrame> frames;  // innermost first
  bool partial = false;             // the two stacks do not fit each other
};

/// Lays Python frames where the native stack evaluates them.
///
/// @param native One role a native frame, innermost first; may be empty.
/// @param python Frames with kPyEntry and kPyShim, innermost first.
/// @param flags  kStack… of the definition.
MergedStack merge_stack(std::span<const NativeRole> native,
                        std::span<const model::PythonFrame> python, std::uint32_t flags);

}  // namespace gpuprof::symbols
