// SPDX-License-Identifier: Apache-2.0
//
// What differs between two recordings apart from times: memory, shapes, how they were made.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include "analysis/report/diff/data/diff.hpp"

namespace gpuprof::report::diff {

/// Fills `diff.memory`.
void compare_memory(const StepProfile& before, const StepProfile& after, const Limits& limits,
                    ProcessDiff& diff);
/// Shapes of inputs, where they were recorded on both sides, are few, and differ.
void compare_shapes(const NameRow& before, const NameRow& after, NameDiff& row);
/// Sentences for `diff.caveats` and `diff.notes`: steps, versions, devices, programs, what was
/// recorded.
void compare_context(const StepProfile& before, const StepProfile& after, ProcessDiff& diff);

}  // namespace gpuprof::report::diff
