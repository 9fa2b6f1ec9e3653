// SPDX-License-Identifier: Apache-2.0
//
// nvtx:NAME as a step source: whether a message matches.
//
// Context:  matches_step_pattern: callback; set_step_pattern (nvtx.hpp): worker
// Owns:     two copies of the pattern: one in use, one to write
// Promises: a handler never sees half a pattern; matching is linear but for one backtrack point
// Not here: the step counter (hot/steps.hpp)
#pragma once

#include "inject/nvtx/handle_tables.hpp"

namespace gpuprof::nvtx {

/// True if the whole message matches the pattern (`*` any text, `?` one character).
bool matches_step_pattern(TextView message);

/// The matcher itself. `?` is one byte of ASCII or one UTF-8 character.
bool glob_matches(TextView pattern, TextView text);

}  // namespace gpuprof::nvtx
