// SPDX-License-Identifier: Apache-2.0
//
// Makes a snapshot from the loader's list.
//
// Context:  worker
// Owns:     nothing
#pragma once

#include <cstdint>

#include "inject/sample/phdr_snapshot.hpp"

namespace gpuprof::sample {

/// The loader's counters of modules added and removed so far.
struct LoaderCounts {
  std::uint64_t adds = 0, subs = 0;
  bool operator==(const LoaderCounts&) const = default;
};

LoaderCounts loader_counts();

/// Copies the loader's list of modules into one new mapping. Null: no memory.
Snapshot* build_snapshot();

}  // namespace gpuprof::sample
