// SPDX-License-Identifier: Apache-2.0
//
// Which sampling signals the program wants for itself.
//
// Context:  worker (take), boundary (claim)
#pragma once

namespace gpuprof::sample {

struct SignalConflicts {
  int handled = 0;  // about to be handled by the program or to get its default action
  int awaited = 0;  // waited for by name, without a handler
};

/// What was claimed since the last call. Worker.
SignalConflicts take_signal_conflicts();
bool has_signal_conflicts();

/// A check of the threads found that the program waits for this very signal. Worker.
void add_awaited_signal(int number);

}  // namespace gpuprof::sample
