// SPDX-License-Identifier: Apache-2.0
//
// Sets of time intervals.
//
// Context:  daemon (export thread) | cli
// Promises: a merged set is sorted and its intervals neither touch nor overlap
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof::exporter {

struct Interval {
  std::uint64_t start_ns, end_ns;
};

using Intervals = std::vector<Interval>;

/// Sorts and joins; empty intervals vanish.
void normalize(Intervals& set);
/// Of merged sets: what is in `a` and not in `b`; what is in one of them.
Intervals subtract(const Intervals& a, const Intervals& b);
Intervals unite(const Intervals& a, const Intervals& b);
/// Time of a merged set from `start_ns` to `end_ns`.
std::uint64_t overlap_ns(const Intervals& set, std::uint64_t start_ns, std::uint64_t end_ns);

}  // namespace gpuprof::exporter
