// SPDX-License-Identifier: Apache-2.0
//
// Stacks of threads that sleep in the kernel, without waking them.
//
// Context:  worker
// Owns:     one buffer for a copied stack
// Promises: no signal, no stop; a stack is walked on a copy and discarded if the thread ran
//           meanwhile; a thread that has not run since the last look costs one clock reading
// Not here: how long a thread has waited (wait_tracker.hpp)
#pragma once

#include <cstdint>

#include "inject/sample/threads/threads.hpp"
#include "inject/sample/unwind/stack_capture.hpp"

namespace gpuprof::sample {

/// Checks those threads of the list that are due.
/// @param period_ns Between two samples of a running thread. One that runs now and then is checked
/// every second period.
/// @param last No check will follow: waits are reported up to now.
/// @return when the next is due; 0: this kernel does not let us (reported once).
std::uint64_t sample_off_cpu_threads(const StackParts& parts, std::uint64_t period_ns,
                                     std::uint64_t now_ns, bool last = false);

/// Checks those that make steps, and have begun no operator since the last call. Where much time
/// passes between two operators, this shows on which side of a step's boundary it does.
/// @param some_step  Whether any thread makes steps.
bool sample_idle_step_threads(const StackParts& parts, std::uint64_t period_ns,
                              std::uint64_t now_ns, bool* some_step);

}  // namespace gpuprof::sample
