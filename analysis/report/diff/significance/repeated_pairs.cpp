// SPDX-License-Identifier: Apache-2.0
//
// What several pairs of recordings show together.
//
// Context:  cli
#include "analysis/report/diff/significance/repeated_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/messages/diff.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::diff {
namespace {

int sign_of(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

/// Which way a row changed, in calls where these say it.
int direction_of(const NameDiff& row, const Change& change) {
  return sign_of(row.calls_changed ? row.calls_after - row.calls_before : change.difference());
}

int direction_of(const MemoryDiff& row) {
  return row.after.peak_allocated_bytes > row.before.peak_allocated_bytes ? 1 : -1;
}

/// Another pair, its names ready to be found.
struct OtherPair {
  explicit OtherPair(const ProcessDiff& its) : process(its) {
    for (const NameDiff& row : its.names) names[{row.kind, row.name}] = &row;
  }
  const ProcessDiff& process;
  std::map<std::pair<NameKind, std::string_view>, const NameDiff*> names;
};

class PairCombiner {
 public:
  PairCombiner(std::vector<OtherPair> others, std::size_t pairs)
      : others_(std::move(others)), pairs_(pairs) {}

  void settle(MetricDiff& row) const {
    resolve_one(row.change, [&row](const OtherPair& other) {
      const MetricDiff* its = other.process.metric(row.name);
      return its != nullptr && its->change.is_reported() &&
             sign_of(its->change.difference()) == sign_of(row.change.difference());
    });
  }

  void settle(MemoryDiff& row) const {
    resolve_one(row, [&row](const OtherPair& other) {
      const auto& all = other.process.memory;
      return std::any_of(all.begin(), all.end(), [&row](const MemoryDiff& its) {
        return its.device == row.device && its.is_reported() &&
               direction_of(its) == direction_of(row);
      });
    });
  }

  void settle(NameDiff& row) const {
    if (row.presence != Presence::kBoth)
      return resolve_one(row, [&row](const OtherPair& other) {
        const NameDiff* its = found(row, other);
        return its != nullptr && its->is_reported();
      });
    for (Change NameDiff::*change : {&NameDiff::self, &NameDiff::total, &NameDiff::device})
      resolve_one(row.*change, [&](const OtherPair& other) {
        const NameDiff* its = found(row, other);
        if (its == nullptr || !(its->*change).is_reported()) return false;
        const bool same_calls = !row.inner_calls.empty() && row.inner_calls == its->inner_calls;
        return same_calls || direction_of(*its, its->*change) == direction_of(row, row.*change);
      });
    row.summarize();
  }

 private:
  static const NameDiff* found(const NameDiff& row, const OtherPair& other) {
    const auto at = other.names.find({row.kind, row.name});
    return at == other.names.end() || at->second->presence != row.presence ? nullptr : at->second;
  }

  /// @param one   A change, or a row that is shown as a whole.
  /// @param shows Whether another pair does, in the same direction.
  template <typename One, typename Shows>
  void resolve_one(One& one, const Shows& shows) const {
    if (!one.is_reported()) return;
    one.confirming_pairs =
        1 + static_cast<std::size_t>(std::count_if(others_.begin(), others_.end(), shows));
    one.significant = one.confirming_pairs == pairs_ && (one.significant || pairs_ >= kEnoughPairs);
    one.is_unconfirmed = !one.significant;
  }

  const std::vector<OtherPair> others_;
  const std::size_t pairs_;
};

bool has_gpu(const Diff& diff) {
  return std::any_of(diff.processes.begin(), diff.processes.end(), [](const ProcessDiff& process) {
    return std::any_of(process.names.begin(), process.names.end(),
                       [](const NameDiff& row) { return row.on_gpu(); });
  });
}

}  // namespace

const ProcessDiff* counterpart(const ProcessDiff& process, const Diff& first, const Diff& other) {
  if (first.processes.size() == 1 && other.processes.size() == 1) return &other.processes.front();
  const auto at = static_cast<std::size_t>(&process - first.processes.data());
  for (const ProcessDiff& one : other.processes)
    if (process.after.rank >= 0 && one.after.rank == process.after.rank) return &one;
  const bool by_place =
      process.after.rank < 0 && at < other.processes.size() && other.processes[at].after.rank < 0;
  return by_place ? &other.processes[at] : nullptr;
}

support::Result<Diff> combine_pairs(std::vector<Diff> pairs) {
  Diff first = std::move(pairs.front());
  pairs.erase(pairs.begin());
  first.other_pairs = std::move(pairs);
  if (first.other_pairs.empty()) return first;
  for (const Diff& other : first.other_pairs)
    if (has_gpu(first) && has_gpu(other) && first.simulated != other.simulated)
      return support::error(
          fmt::format(messages::diff::kSimulatedAndReal,
                      support::in_quotes(first.simulated ? first.before : other.before),
                      support::in_quotes(first.simulated ? other.before : first.before)),
          kExitCannotCompare);
  for (ProcessDiff& process : first.processes) {
    std::vector<OtherPair> others;
    for (const Diff& other : first.other_pairs)
      if (const ProcessDiff* one = counterpart(process, first, other)) others.emplace_back(*one);
    const PairCombiner joining(std::move(others), first.pairs());
    for (MetricDiff& row : process.metrics) joining.settle(row);
    for (MemoryDiff& row : process.memory) joining.settle(row);
    for (NameDiff& row : process.names) joining.settle(row);
    process.sort_names();
  }
  return first;
}

std::vector<std::string> pairs_messages(const Diff& diff) {
  if (diff.other_pairs.empty()) return {};
  std::vector<std::string> messages{fmt::format(messages::diff::kPairs, diff.pairs())};
  for (std::size_t i = 0; i < diff.other_pairs.size(); ++i)
    messages.push_back(fmt::format(messages::diff::kPair, i + 2, diff.other_pairs[i].before,
                                   diff.other_pairs[i].after));
  return messages;
}

}  // namespace gpuprof::report::diff
