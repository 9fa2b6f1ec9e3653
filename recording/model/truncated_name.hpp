// SPDX-License-Identifier: Apache-2.0
//
// The suffix of a truncated name.
//
// Context:  daemon | cli
// Promises: names that differ only behind the cut stay different
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace gpuprof::model {

/// "…#1a2b3c4d".
///
/// @param hash Of the whole name.
inline std::string truncation_suffix(std::uint64_t hash) {
  char mark[16];
  std::snprintf(mark, sizeof mark, "\u2026#%08x", static_cast<std::uint32_t>(hash ^ (hash >> 32)));
  return mark;
}

}  // namespace gpuprof::model
