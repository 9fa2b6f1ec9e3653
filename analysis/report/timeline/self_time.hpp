// SPDX-License-Identifier: Apache-2.0
//
// Own time of host events: what none of their children covers.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <algorithm>
#include <cstdint>

#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

/// What of `outer` a child covers that none before it did; children come in order of begin.
/// @param until Where those before it end; moved on.
inline std::int64_t newly_covered_ns(const HostEvent& child, const HostEvent& outer,
                                     std::uint64_t& until) {
  const std::uint64_t from = std::max(child.start_ns, until);
  const std::uint64_t to = std::min(child.end_ns, outer.end_ns);
  until = std::max(until, child.end_ns);
  return to > from ? static_cast<std::int64_t>(to - from) : 0;
}

}  // namespace gpuprof::report
