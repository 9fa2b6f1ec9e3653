// SPDX-License-Identifier: Apache-2.0
//
// Stacks of threads that sleep in the kernel, without waking them.
//
// Context:  worker
// Owns:     one buffer for a copied stack
// Promises: no signal, no stop; a stack is walked on a copy and thrown away if the thread ran
//           meanwhile; a thread that has not run since the last look costs one clock reading
#pragma once

#include <cstdint>

#include "inject/sample/take_stack.hpp"
#include "inject/sample/threads.hpp"

namespace gpuprof::sample {

/// Looks at every thread of the list. False: this kernel does not let us (said once).
bool look_at_blocked_threads(const StackParts& parts, std::uint64_t now_ns);

}  // namespace gpuprof::sample
