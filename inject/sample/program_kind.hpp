// SPDX-License-Identifier: Apache-2.0
//
// The runtimes in the program (Go, JVM, sanitizers, ...) that limit how we may use signals.
//
// Context:  worker | boundary
#pragma once

#include "inject/sample/modules/module_snapshot.hpp"

namespace gpuprof::sample {

/// Looks for code that needs alternate stacks (alt_stacks.hpp). True: something was found that was
/// not there before.
bool detect_alt_stack_needs(const Snapshot& snapshot);
/// The same in the loader's list at this moment. Boundary.
void detect_listed_alt_stack_needs();

/// Whether some module was made by the Go toolchain.
bool has_go(const Snapshot* snapshot);

/// Whether the program itself was.
bool is_go(const Snapshot* snapshot);

/// Whether its threads are not the C library's: Go without cgo, whose program needs no library and
/// keeps something of its own where our code expects thread-local storage.
bool has_non_libc_threads(const Snapshot* snapshot);

}  // namespace gpuprof::sample
