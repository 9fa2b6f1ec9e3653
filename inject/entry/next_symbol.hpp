// SPDX-License-Identifier: Apache-2.0
//
// Finds the next definition of a function that we interpose, which our wrapper calls (RTLD_NEXT).
//
// Context:  boundary
#pragma once

#include <atomic>

#include "inject/modules/pinned_module.hpp"

namespace gpuprof::entry {

/// The next library's function of this name; null: there is none. Looked up by a constructor: when
/// the program calls, another thread may be inside dlopen and hold the loader's lock until this one
/// has made progress; nor may signal handlers look symbols up.
template <typename Function>
Function next_symbol(std::atomic<Function>& known, const char* name) {
  Function function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(modules::next_symbol(name));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace gpuprof::entry
