// SPDX-License-Identifier: Apache-2.0
//
// A deep C++ call tree that burns CPU, so that host samples have something to show.
//
// Context:  any thread
// Owns:     nothing
// Promises: none of the functions is inlined or tail-called away
// Not here: device work
#pragma once

namespace trainer {

/// Burns about `milliseconds` of CPU, `depth` frames deep.
void prepare_batch(double milliseconds, long depth);

}  // namespace trainer
