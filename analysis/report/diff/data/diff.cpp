// SPDX-License-Identifier: Apache-2.0
//
// What changed between two recordings: questions that the data answer by themselves.
//
// Context:  cli
#include "analysis/report/diff/data/diff.hpp"

#include <algorithm>
#include <cmath>

namespace gpuprof::report::diff {
namespace {

/// What is claimed stands before what is only seen.
template <typename One>
int rank_of(const One& one) {
  return one.significant ? 2 : one.is_unconfirmed ? 1 : 0;
}

}  // namespace

const Change& NameDiff::primary_change() const {
  if (on_gpu()) return device;
  const Change* best = &total;
  for (const Change* one : {&self, &device}) {
    if (!one->measured) continue;
    // What calls nothing is reported as itself.
    const bool more = std::max(one->share_before, one->share_after) >=
                      0.99 * std::max(best->share_before, best->share_after);
    if (!best->measured || rank_of(*one) > rank_of(*best) ||
        (rank_of(*one) == rank_of(*best) && more))
      best = one;
  }
  return *best;
}

bool NameDiff::program_changed() const {
  return presence != Presence::kBoth || calls_changed || !inner_calls.empty() ||
         !shapes_before.empty();
}

void NameDiff::summarize() {
  if (presence != Presence::kBoth) return;
  significant = self.significant || total.significant || device.significant;
  is_unconfirmed =
      !significant && (self.is_unconfirmed || total.is_unconfirmed || device.is_unconfirmed);
  confirming_pairs = primary_change().confirming_pairs;
}

void ProcessDiff::sort_names() {
  std::stable_sort(names.begin(), names.end(), [](const NameDiff& a, const NameDiff& b) {
    if (rank_of(a) != rank_of(b)) return rank_of(a) > rank_of(b);
    const Change &x = a.primary_change(), &y = b.primary_change();
    if (a.is_reported()) return std::abs(x.difference()) > std::abs(y.difference());
    return std::max(x.share_before, x.share_after) > std::max(y.share_before, y.share_after);
  });
}

bool ProcessDiff::any_significant() const {
  const auto is = [](const auto& one) { return one.significant; };
  return std::any_of(names.begin(), names.end(), is) ||
         std::any_of(memory.begin(), memory.end(), is) ||
         std::any_of(metrics.begin(), metrics.end(),
                     [](const MetricDiff& one) { return one.change.significant; });
}

const MetricDiff* ProcessDiff::metric(std::string_view name) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(),
                                  [&](const MetricDiff& one) { return one.name == name; });
  return found == metrics.end() ? nullptr : &*found;
}

}  // namespace gpuprof::report::diff
