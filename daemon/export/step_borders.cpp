// SPDX-License-Identifier: Apache-2.0
//
// fit_into_steps().
//
// Context:  daemon (export thread) | cli
#include "daemon/export/step_borders.hpp"

#include <algorithm>

namespace gpuprof::exporter {
namespace {

/// Cuts `range` so that it nests with `step`, if little has to go; false if much would.
bool fit(const model::Step& step, Interval& range) {
  const bool apart = range.end_ns <= step.start_ns || range.start_ns >= step.end_ns;
  const bool inside = range.start_ns >= step.start_ns && range.end_ns <= step.end_ns;
  const bool around = range.start_ns <= step.start_ns && range.end_ns >= step.end_ns;
  if (apart || inside || around) return true;
  // What lies on this side of the border, and what beyond.
  const bool early = range.start_ns < step.start_ns;
  const std::uint64_t border = early ? step.start_ns : step.end_ns;
  const std::uint64_t before = border - range.start_ns, after = range.end_ns - border;
  if (std::min(before, after) > kSnapNs) return false;
  (before < after ? range.start_ns : range.end_ns) = border;
  return true;
}

}  // namespace

std::optional<Interval> fit_into_steps(const std::vector<model::Step>& steps, std::uint32_t tid,
                                       std::uint64_t start_ns, std::uint64_t end_ns) {
  Interval range{start_ns, end_ns};
  auto at = std::upper_bound(steps.begin(), steps.end(), start_ns,
                             [](std::uint64_t ts, const model::Step& s) { return ts < s.end_ns; });
  if (at == steps.end() || at->start_ns >= end_ns) return range;
  // Steps follow each other: only the first and the last that are touched can be crossed.
  auto last = std::lower_bound(at, steps.end(), end_ns, [](const model::Step& s, std::uint64_t ts) {
    return s.start_ns < ts;
  });
  --last;
  if (at->tid == tid && !fit(*at, range)) return std::nullopt;
  if (last != at && last->tid == tid && !fit(*last, range)) return std::nullopt;
  return range;
}

}  // namespace gpuprof::exporter
