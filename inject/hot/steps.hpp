// SPDX-License-Identifier: Apache-2.0
//
// The agent's own step counter: one per process, fed by whichever step source is configured.
//
// Context:  callback
// Owns:     nothing: the counter lives in the segment's Stats
// Promises: a mark is pushed before the counter is compared with the plan; crossing a
//           boundary wakes the worker, nothing is switched on the calling thread
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"

namespace gpuprof::hot {

/// A step begins now on this thread. Returns its number (from 0).
/// @param label The program's own number for it (kUser).
/// @param flags wire::kStepLoopEntry
std::uint64_t step_begin(const Guard& guard, wire::StepSource source, std::uint64_t ts_ns,
                         std::uint64_t label = 0, std::uint32_t flags = 0);

/// Step `number` ends now. Sources without an end (kernel:) never call this.
void step_end(const Guard& guard, wire::StepSource source, std::uint64_t number,
              std::uint64_t ts_ns);

/// Whether recording is wanted at this step: the plan's mode, or its step window.
bool recording_wanted(std::uint64_t step);

}  // namespace gpuprof::hot
