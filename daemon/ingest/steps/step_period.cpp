// SPDX-License-Identifier: Apache-2.0
//
// Autocorrelation, rare anchors, and the cuts.
//
// Context:  daemon; pure
// Owns:     nothing
#include "daemon/ingest/steps/step_period.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

namespace gpuprof::ingest {
namespace {

using Ops = std::vector<OperatorHistory::Op>;

/// Longer sequences are judged by their last part; initialisation lies before it.
constexpr std::size_t kMaxCompared = 24'000;
constexpr std::size_t kMinPeriods = 5;
constexpr double kMinMatch = 0.9, kAsGood = 0.97;

/// Names as small numbers, of the last part.
std::vector<std::uint32_t> numbered(const Ops& ops) {
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> sequence;
  for (std::size_t i = ops.size() - std::min(ops.size(), kMaxCompared); i < ops.size(); ++i)
    sequence.push_back(
        numbers.try_emplace(ops[i].name_id, static_cast<std::uint32_t>(numbers.size()))
            .first->second);
  return sequence;
}

double match_at(const std::vector<std::uint32_t>& sequence, std::size_t lag) {
  std::size_t same = 0;
  for (std::size_t i = 0; i + lag < sequence.size(); ++i) same += sequence[i] == sequence[i + lag];
  return static_cast<double>(same) / static_cast<double>(sequence.size() - lag);
}

/// The smallest lag that matches as well as the best.
std::size_t by_correlation(const std::vector<std::uint32_t>& sequence) {
  std::vector<double> match;
  for (std::size_t lag = 1; lag * kMinPeriods <= sequence.size(); ++lag)
    match.push_back(match_at(sequence, lag));
  const auto best = std::max_element(match.begin(), match.end());
  if (best == match.end() || *best < kMinMatch) return 0;
  const double enough = *best * kAsGood;
  const auto first =
      std::find_if(match.begin(), match.end(), [enough](double m) { return m >= enough; });
  return static_cast<std::size_t>(first - match.begin()) + 1;
}

/// The distance of the rarest three names in a row that come again at equal distances all along:
/// an initialisation repeats itself, too.
std::size_t by_anchors(const std::vector<std::uint32_t>& sequence) {
  std::map<std::array<std::uint32_t, 3>, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i + 2 < sequence.size(); ++i)
    places[{sequence[i], sequence[i + 1], sequence[i + 2]}].push_back(i);
  std::size_t fewest = ~std::size_t{0}, distance = 0;
  for (const auto& [names, at] : places) {
    if (at.size() < kMinPeriods || at.size() >= fewest) continue;
    if (at.back() - at.front() < sequence.size() / 2) continue;
    std::map<std::size_t, std::size_t> gaps;
    for (std::size_t i = 1; i < at.size(); ++i) ++gaps[at[i] - at[i - 1]];
    const auto usual = std::max_element(
        gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (static_cast<double>(usual->second) < kMinMatch * static_cast<double>(at.size() - 1))
      continue;
    fewest = at.size();
    distance = usual->first;
  }
  return distance;
}

bool same_names(const Ops& ops, std::size_t a, std::size_t b, std::size_t count) {
  if (std::max(a, b) + count > ops.size()) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (ops[a + i].name_id != ops[b + i].name_id) return false;
  return true;
}

/// Where the next step begins, near `expected`; ops.size(): nowhere.
std::size_t next_begin(const Ops& ops, std::size_t first, std::size_t expected,
                       std::size_t period) {
  const std::size_t anchor = std::min<std::size_t>(period, 8);
  for (std::size_t off = 0; off <= period / 2; ++off) {
    if (same_names(ops, first, expected + off, anchor)) return expected + off;
    if (off <= expected && same_names(ops, first, expected - off, anchor)) return expected - off;
  }
  return ops.size();
}

/// Operators in a row that autograd did not follow: an optimizer, and perhaps an evaluation.
struct Run {
  std::size_t begin, end;
};

/// Those that autograd follows again after, which end within the cycle from `first` on or begin
/// there and end in the next.
std::vector<Run> unfollowed(const Ops& ops, std::size_t first, std::size_t period) {
  using Kind = OperatorHistory::Kind;
  std::vector<Run> runs;
  // What is open at `first` is seen whole at the end of the cycle.
  std::size_t begin = first;
  while (begin < first + period && ops[begin].kind == Kind::kNoGrad) ++begin;
  if (begin == first + period) return runs;
  std::size_t length = 0;
  for (std::size_t i = begin; i < std::min(begin + period, ops.size()); ++i) {
    if (ops[i].kind == Kind::kNoGrad) {
      ++length;
      continue;
    }
    if (ops[i].kind == Kind::kGradTracked && length != 0) runs.push_back({i - length, i});
    length = 0;
  }
  if (length != 0) runs.push_back({begin + period - length, begin + period});
  return runs;
}

/// The longest of the runs, and how many begin like it: so many updates.
std::pair<Run, std::size_t> updates_of(const Ops& ops, const std::vector<Run>& runs) {
  const Run longest = *std::max_element(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return a.end - a.begin < b.end - b.begin;
  });
  const std::size_t compared = std::min<std::size_t>(longest.end - longest.begin, 4);
  const auto alike = [&](const Run& run) {
    return run.end - run.begin >= compared && same_names(ops, longest.begin, run.begin, compared);
  };
  return {longest, static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), alike))};
}

/// Where the step before `second` begins, which may do more or less than the others: there
/// are no gradients to clear, and no momentum; `second`: there is none.
std::size_t begin_of_first(const Ops& ops, std::size_t second, std::size_t period) {
  if (second < period / 2) return second;
  const std::size_t expected = second < period ? 0 : second - period;
  for (std::size_t lead = 0; lead <= period / 2; ++lead) {
    const std::size_t begin = next_begin(ops, second + lead, expected + lead, period);
    if (begin >= second) continue;
    // Where nothing stands before it, it may have begun earlier than it was seen.
    return begin == 0 && lead != 0 ? second : begin;
  }
  return second;
}

}  // namespace

std::size_t find_period(const Ops& ops) {
  const std::vector<std::uint32_t> sequence = numbered(ops);
  const std::size_t period = by_correlation(sequence);
  return period != 0 && by_anchors(sequence) == period ? period : 0;
}

std::vector<FoundStep> cut_by_period(const Ops& ops, std::size_t period) {
  if (period == 0 || ops.size() < 2 * period) return {};
  // Back from the last part as long as names repeat.
  std::size_t first = ops.size() - std::min(ops.size(), kMaxCompared);
  while (first + 2 * period < ops.size() && !same_names(ops, first, first + period, period))
    ++first;
  while (first > 0 && ops[first - 1].name_id == ops[first - 1 + period].name_id) --first;
  if (first + 2 * period > ops.size()) return {};
  std::vector<FoundStep> steps;
  if (const std::vector<Run> runs = unfollowed(ops, first, period); !runs.empty()) {
    const auto [update, times] = updates_of(ops, runs);
    // Several steps and what is done after them, again and again.
    if (times > 1) return {};
    const std::size_t second = update.end < first + period ? update.end : update.end - period;
    first = begin_of_first(ops, second, period);
    if (first != second)
      steps.push_back({ops[first].begin_ns, ops[second - 1].end_ns, ops[first].tid});
    first = second;
  }
  for (std::size_t at = first; at + period <= ops.size();) {
    const std::size_t next = next_begin(ops, first, at + period, period);
    const bool last = next + period / 2 > ops.size();
    const std::size_t end = std::min(next, at + period);
    steps.push_back({ops[at].begin_ns, ops[end - 1].end_ns, ops[at].tid});
    if (last) break;
    at = next;
  }
  // What lies between two is of the first one: nothing tells more.
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) steps[i].end_ns = steps[i + 1].begin_ns;
  return steps;
}

std::vector<FoundStep> cut_by_optimizer(const Ops& ops, const std::vector<OptimizerEnd>& ends,
                                        std::uint64_t name_id) {
  std::vector<OptimizerEnd> cuts;
  std::copy_if(ends.begin(), ends.end(), std::back_inserter(cuts),
               [name_id](const OptimizerEnd& end) { return end.name_id == name_id; });
  if (cuts.size() < 2) return {};
  const auto after = [&](std::uint64_t ts_ns) {
    return static_cast<std::size_t>(
        std::find_if(ops.begin(), ops.end(),
                     [ts_ns](const OperatorHistory::Op& op) { return op.begin_ns >= ts_ns; }) -
        ops.begin());
  };
  // The operators up to the first cut and those up to the second, compared from their ends.
  const std::size_t first = after(cuts[0].end_ns), second = after(cuts[1].end_ns);
  std::size_t same = 0;
  while (same < first && first + same < second &&
         ops[first - 1 - same].name_id == ops[second - 1 - same].name_id)
    ++same;
  std::vector<FoundStep> steps;
  std::uint64_t begin_ns = cuts[0].end_ns;
  // Less than half of it: the first step does what the others do not.
  if (first != 0) {
    const bool alike = same * 2 >= second - first;
    steps.push_back({ops[alike ? first - same : 0].begin_ns, begin_ns, cuts[0].tid});
  }
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    steps.push_back({begin_ns, cuts[i].end_ns, cuts[i].tid});
    begin_ns = cuts[i].end_ns;
  }
  return steps;
}

}  // namespace gpuprof::ingest
