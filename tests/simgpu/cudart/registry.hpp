// SPDX-License-Identifier: Apache-2.0
//
// What nvcc's start-up code registers: fat binaries, kernels and device variables, by the address
// of their host stubs.
//
// Context:  static constructors and destructors of the program, application threads
// Owns:     one leaked table
// Promises: registering only appends to a list; images are read at the first use of a kernel in
//           them
// Not here: entry points (register_api.cpp)
#pragma once

#include <cstddef>

#include "core/objects.hpp"

namespace gpusim {

struct FatBinary;

/// A variable in device memory.
struct Symbol {
  const char* name;
  std::size_t bytes;
  std::uintptr_t address;
};

FatBinary* register_binary(const void* wrapper);
/// The image is about to disappear; what was read from it stays.
void forget_binary(FatBinary* binary);
void register_kernel(FatBinary* binary, const void* host, const char* device_name);
void register_variable(FatBinary* binary, const void* host, const char* device_name,
                       std::size_t bytes);

/// The function behind a host stub or a kernel handle, or null. Reads the image it lies in at the
/// first call.
Function* function_at(const void* stub_or_kernel);

/// The variable registered at `host`, with memory on the current device; null if there is none.
/// Needs a current context.
const Symbol* symbol_at(const void* host);

}  // namespace gpusim
