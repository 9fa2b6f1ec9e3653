// SPDX-License-Identifier: Apache-2.0
//
// A module whose load is over and that stays mapped: where functions that we call come from.
//
// Context:  worker | boundary
// Owns:     one reference of the loader's to each module held, for good
// Promises: a module is held only after its constructors have run, or, on the program's own thread,
//           as far as they have for whoever is inside dlopen there; what is held is never released
// Not here: modules that are only read (module_list.hpp)
//
// Why for good (ADR 0027): the last dlclose would be ours if the program's own came meanwhile, and
// its destructors would run on the worker thread; and callbacks may be inside when we have
// detached.
#pragma once

#include <cstdint>

namespace gpuprof::modules {

class PinnedModule {
 public:
  PinnedModule() = default;

  /// A mapped module, by its path ("": the program). Empty while somebody is inside dlopen or
  /// dlclose (ask again later), or if it is gone. Worker.
  static PinnedModule pin(const char* path);

  /// The same on a thread of the program: waits for others who are inside dlopen. Boundary.
  static PinnedModule pin_blocking(const char* path);

  /// Loads a library (RTLD_NOW | RTLD_LOCAL), or holds it if it is mapped. Worker | boundary.
  static PinnedModule load_and_pin(const char* path);

  explicit operator bool() const { return handle_ != nullptr; }

  /// A symbol of the module or of what it depends on; null: there is none.
  void* symbol(const char* name) const;
  template <typename F>
  F function(const char* name) const {
    return reinterpret_cast<F>(symbol(name));
  }

 private:
  explicit PinnedModule(void* handle) : handle_(handle) {}
  void* handle_ = nullptr;
};

/// Path of the module that holds an address of code that is running or held ("": the program);
/// null: none does. Takes the lock of the list only.
const char* module_path_of(const void* address);

/// A symbol of the module that is calling us, or of what it depends on. On its own thread.
/// Boundary.
void* symbol_from_caller(const void* caller, const char* name);

/// What a function of ours precedes: the next definition of the name. For constructors of this
/// library and, where they were too early, at a call of the program. Boundary.
void* next_symbol(const char* name);

}  // namespace gpuprof::modules
