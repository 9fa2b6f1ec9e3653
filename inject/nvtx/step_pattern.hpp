// SPDX-License-Identifier: Apache-2.0
//
// nvtx:NAME as a step source: does a message match.
//
// Context:  matches_step: callback; set_step_name (nvtx.hpp): worker
// Owns:     two copies of the pattern: one in use, one to write
// Promises: a handler never sees half a pattern; matching is linear but for one backtrack point
// Not here: the step counter (hot/steps.hpp)
#pragma once

#include "inject/nvtx/handle_tables.hpp"

namespace gpuprof::nvtx {

/// True if the whole message matches the pattern (`*` any text, `?` one character).
bool matches_step(Text message);

/// The matcher itself. `?` is one byte of ASCII or one UTF-8 character.
bool glob_matches(Text pattern, Text text);

}  // namespace gpuprof::nvtx
