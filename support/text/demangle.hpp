// SPDX-License-Identifier: Apache-2.0
//
// Linker symbols as names.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: bounded: a symbol of 200 characters can stand for a name of gigabytes, since each of
//           its parts may be named again
#pragma once

#include <cstddef>
#include <string>

namespace gpuprof::support {

/// Longest name that is made of a symbol, in bytes.
inline constexpr std::size_t kMaxDemangledBytes = 64 * 1024;

/// A C++ name (or a Rust one mangled as C++) as written in the source. Other names, and those whose
/// name would be longer than that, unchanged.
std::string demangle(const char* symbol);

}  // namespace gpuprof::support
