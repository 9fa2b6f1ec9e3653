// SPDX-License-Identifier: Apache-2.0
//
// StepDeduplicator: which marks are of one step.
//
// Context:  cli through analysis/commands
#include "analysis/import/classify/step_dedup.hpp"

#include <algorithm>
#include <tuple>

namespace gpuprof::importer {
namespace {

std::int64_t length_of(const ParsedEvent& r) { return r.end_ns - r.start_ns; }

bool of_one(const ParsedEvent& a, const ParsedEvent& b) {
  return a.process == b.process && a.step.label == b.step.label;
}

}  // namespace

void StepDeduplicator::deduplicate(const std::function<void(const ParsedEvent&)>& step,
                                   const std::function<void(std::string_view category)>& repeat) {
  std::sort(steps_.begin(), steps_.end(), [](const PendingStep& a, const PendingStep& b) {
    const auto key = [](const ParsedEvent& r) {
      return std::tuple(r.process, r.step.label, r.start_ns, -length_of(r), r.sequence);
    };
    return key(a.record) < key(b.record);
  });
  for (std::size_t from = 0, to = 0; from < steps_.size(); from = to) {
    std::size_t longest = from;
    std::int64_t until_ns = steps_[from].record.end_ns;
    for (to = from + 1; to < steps_.size(); ++to) {
      const ParsedEvent& next = steps_[to].record;
      const bool same =
          of_one(steps_[from].record, next) &&
          (next.start_ns < until_ns || next.start_ns == steps_[to - 1].record.start_ns);
      if (!same) break;
      until_ns = std::max(until_ns, next.end_ns);
      if (length_of(next) > length_of(steps_[longest].record)) longest = to;
    }
    for (std::size_t i = from; i < to; ++i)
      i == longest ? step(steps_[i].record) : repeat(steps_[i].category);
  }
  steps_.clear();
}

}  // namespace gpuprof::importer
