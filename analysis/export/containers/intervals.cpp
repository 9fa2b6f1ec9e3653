// SPDX-License-Identifier: Apache-2.0
//
// Sets of time.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/containers/intervals.hpp"

#include <algorithm>

namespace gpuprof::exporter {
namespace {

void append(Intervals& set, Interval next) {
  if (next.end_ns <= next.start_ns) return;
  if (!set.empty() && next.start_ns <= set.back().end_ns) {
    set.back().end_ns = std::max(set.back().end_ns, next.end_ns);
  } else {
    set.push_back(next);
  }
}

}  // namespace

void normalize(Intervals& set) {
  const auto before = [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; };
  if (!std::is_sorted(set.begin(), set.end(), before)) std::sort(set.begin(), set.end(), before);
  std::size_t kept = 0;  // in place: sets of millions are merged
  for (const Interval next : set) {
    if (next.end_ns <= next.start_ns) continue;
    if (kept != 0 && next.start_ns <= set[kept - 1].end_ns)
      set[kept - 1].end_ns = std::max(set[kept - 1].end_ns, next.end_ns);
    else
      set[kept++] = next;
  }
  set.resize(kept);
}

Intervals subtract(const Intervals& a, const Intervals& b) {
  Intervals rest;
  auto cut = b.begin();
  for (Interval left : a) {
    while (cut != b.end() && cut->end_ns <= left.start_ns) ++cut;
    for (auto at = cut; at != b.end() && at->start_ns < left.end_ns; ++at) {
      append(rest, {left.start_ns, std::min(at->start_ns, left.end_ns)});
      left.start_ns = std::max(left.start_ns, at->end_ns);
    }
    append(rest, left);
  }
  return rest;
}

Intervals unite(const Intervals& a, const Intervals& b) {
  Intervals both;
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    const bool first = y == b.end() || (x != a.end() && x->start_ns < y->start_ns);
    append(both, first ? *x++ : *y++);
  }
  return both;
}

std::uint64_t overlap_ns(const Intervals& set, std::uint64_t start_ns, std::uint64_t end_ns) {
  auto at = std::upper_bound(set.begin(), set.end(), start_ns,
                             [](std::uint64_t ns, const Interval& i) { return ns < i.end_ns; });
  std::uint64_t sum = 0;
  for (; at != set.end() && at->start_ns < end_ns; ++at)
    sum += std::min(at->end_ns, end_ns) - std::max(at->start_ns, start_ns);
  return sum;
}

}  // namespace gpuprof::exporter
