// SPDX-License-Identifier: Apache-2.0
//
// How often the loader's list of modules has changed, so that it is walked again only after a
// change.
//
// Context:  boundary (takes the loader's lock)
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace gpuprof::base {

/// Objects the loader has added and removed since the process began. They cannot change inside a
/// callback of dl_iterate_phdr.
struct LoaderCounts {
  std::uint64_t adds = 0, subs = 0;
  bool operator==(const LoaderCounts&) const = default;
};

/// @param size  the size of `info`, as passed to the callback. @return zeros if the C library has
/// no such counters.
inline LoaderCounts loader_counts(const dl_phdr_info& info, std::size_t size) {
  if (size < offsetof(dl_phdr_info, dlpi_subs) + sizeof info.dlpi_subs) return {};
  return {info.dlpi_adds, info.dlpi_subs};
}

/// Takes the loader's lock.
inline LoaderCounts loader_counts() {
  LoaderCounts counts;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t size, void* to) {
        *static_cast<LoaderCounts*>(to) = loader_counts(*info, size);
        return 1;
      },
      &counts);
  return counts;
}

}  // namespace gpuprof::base
