// SPDX-License-Identifier: Apache-2.0
//
// One training thread: its device, streams, buffers, kernels and step loop.
//
// Context:  its own thread
// Owns:     everything it created on the device
// Promises: a failing CUDA call ends the program with a sentence and status 3
// Not here: options (options.hpp), counters' output (main.cpp)
#pragma once

#include "trainer/counters.hpp"
#include "trainer/options.hpp"

namespace trainer {

/// Initialises CUDA and says how many devices there are.
int cuda_devices();

/// Runs `options.steps` steps as thread number `index` (0 = the main thread, which owns the step
/// ranges). `on_progress` is called often, from thread 0 only.
void train(const Options& options, int index, Counters& counters,
           void (*on_progress)(const Counters&));

}  // namespace trainer
