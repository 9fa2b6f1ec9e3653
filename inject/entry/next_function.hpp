// SPDX-License-Identifier: Apache-2.0
//
// What a call that we interpose goes on to.
//
// Context:  boundary
// Owns:     nothing
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace gpuprof::entry {

/// The next library's function of this name; null: there is none. Looked up at the first call:
/// dlsym is not for signal handlers.
template <typename Function>
Function next_function(std::atomic<Function>& known, const char* name) {
  Function function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace gpuprof::entry
