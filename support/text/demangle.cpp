// SPDX-License-Identifier: Apache-2.0
//
// Linker symbols as names, by GNU's demangler.
//
// Context:  daemon | cli
#include "support/text/demangle.hpp"

// Else libiberty declares its own, which the C library has declared otherwise.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

namespace gpuprof::support {
namespace {

/// Thrown through the demangler, which offers no other way to stop it and owns nothing meanwhile
/// (abi::__cxa_demangle, the same code, hands over the whole name only).
struct TooLong {};

void add(const char* piece, std::size_t bytes, void* to) {
  auto& name = *static_cast<std::string*>(to);
  if (bytes > kMaxDemangledBytes - name.size()) throw TooLong();
  name.append(piece, bytes);
}

}  // namespace

std::string demangle(const char* symbol) {
  if (symbol[0] != '_' || symbol[1] != 'Z') return symbol;
  std::string name;
  try {
    if (cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_TYPES, add, &name) == 0)
      return symbol;
  } catch (const TooLong&) {
    return symbol;
  }
  return name;
}

}  // namespace gpuprof::support
