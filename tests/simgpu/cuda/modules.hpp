// SPDX-License-Identifier: Apache-2.0
//
// Modules and libraries a program loads by itself (Triton, NVRTC): what is read from their images.
//
// Context:  application threads
// Owns:     modules and their variables until the process ends or the module is unloaded
// Promises: with a cubin, kernels have its figures and unknown names are not found; with anything
//           else (PTX, text) every name exists and its figures are invented
// Not here: entry points (module_api.cpp, library_api.cpp)
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "core/objects.hpp"
#include "core/work/kernels.hpp"

namespace gpusim {

/// A variable of a module in device memory.
struct ModuleVariable {
  std::uintptr_t address;
  std::size_t bytes;
};

struct ModuleImage {
  FigureTable figures;
  /// Sizes of the objects of the cubin.
  std::unordered_map<std::string, std::size_t> objects;
  std::mutex mutex;
  std::unordered_map<std::string, ModuleVariable> variables;
};

/// Loads an image for `context`, which may be null for a library. Reports the load.
Module* load_image(Context* context, const void* image);
/// Loads from a file. @return CUresult value.
int load_file(Context* context, const char* path, Module** module);
/// Gives everything of the module back and reports it.
void unload(Module* module);

/// The kernel of that name. @return CUresult value.
int find_kernel(Module* module, const char* name, Function** function);
/// The variable of that name. @return CUresult value.
int find_variable(Module* module, const char* name, ModuleVariable* variable);

/// Value of a CU_FUNC_ATTRIBUTE_*.
int function_attribute(const Function& function, int attribute);
/// Sets one; what has no meaning here is accepted. @return CUresult value.
int set_function_attribute(Function& function, int attribute, int value);

}  // namespace gpusim
