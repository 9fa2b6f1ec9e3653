// SPDX-License-Identifier: Apache-2.0
//
// What of our signal the program wants for itself.
//
// Context:  worker (take), boundary (claim)
// Owns:     nothing
#pragma once

namespace gpuprof::sample {

struct SignalClaims {
  int taken = 0;  // about to be handled by the program or to get its default action
  int named = 0;  // waited for by name, without a handler
};

/// What was claimed since the last call. Worker.
SignalClaims take_claims();
bool some_are_claimed();

/// A look at the threads found that the program means this signal. Worker.
void note_named(int number);

}  // namespace gpuprof::sample
