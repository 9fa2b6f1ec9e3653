// SPDX-License-Identifier: Apache-2.0
//
// Names of both sides brought together.
//
// Context:  cli
#include "analysis/report/diff/significance/name_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace gpuprof::report::diff {
namespace {

bool kept(const StepProfile& profile, const StepCell& cell) {
  return cell.index >= profile.warm_up;
}

Values values_of(const StepProfile& profile, const NameRow* row, float StepCell::*sum) {
  Values values;
  if (row == nullptr) return values;
  for (const StepCell& cell : row->cells) {
    if (!kept(profile, cell) || cell.calls <= 0) continue;
    const double calls = profile.has_steps ? 1 : cell.calls;
    values.push_back(std::max(0.0F, cell.*sum) / calls);
  }
  return values;
}

double share_of(const StepProfile& profile, const NameRow* row, float StepCell::*sum,
                const Values& values) {
  if (row == nullptr || values.empty()) return 0;
  if (!profile.has_steps) {
    double all = 0;
    for (const StepCell& cell : row->cells) all += cell.*sum;
    return profile.recorded_ns == 0 ? 0 : all / static_cast<double>(profile.recorded_ns);
  }
  const std::vector<double>& lengths = profile.of(StepMeasure::kLength);
  const double length =
      median({lengths.begin() + static_cast<std::ptrdiff_t>(profile.warm_up), lengths.end()});
  const auto cells = static_cast<double>(profile.cells() - profile.warm_up);
  return length <= 0 ? 0 : median(values) * static_cast<double>(values.size()) / cells / length;
}

/// A number that nine of ten steps have; -1: they vary.
double fixed(const Values& values) {
  std::map<double, std::size_t> counts;
  for (const double value : values) ++counts[value];
  for (const auto& [value, count] : counts)
    if (static_cast<double>(count) >= 0.9 * static_cast<double>(values.size())) return value;
  return -1;
}

Values block_means(const Values& values) {
  const std::size_t blocks = std::min(kMaxBlocks, values.size());
  Values means;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto from = static_cast<std::ptrdiff_t>(i * values.size() / blocks);
    const auto to = static_cast<std::ptrdiff_t>((i + 1) * values.size() / blocks);
    means.push_back(mean({values.begin() + from, values.begin() + to}));
  }
  return means;
}

/// The whole number that calls in a call are, but for a few at the begin; -1: none.
double whole(double calls) {
  const double nearest = std::round(calls);
  return std::abs(calls - nearest) <= 0.02 * std::max(1.0, nearest) ? nearest : -1;
}

/// All that shares are shares of.
double compared_ns(const StepProfile& profile) {
  if (!profile.has_steps) return static_cast<double>(profile.recorded_ns);
  return mean(profile.of(StepMeasure::kLength)) * static_cast<double>(profile.steps);
}

bool occurs(const StepProfile& profile, const NameRow& row) {
  return std::any_of(row.cells.begin(), row.cells.end(),
                     [&](const StepCell& cell) { return kept(profile, cell) && cell.calls > 0; });
}

}  // namespace

double mean(const Values& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double typical_calls(const Values& values) {
  const double same = fixed(values);
  return same >= 0 ? same : mean(values);
}

bool calls_differ(const Values& before, const Values& after, std::size_t tests) {
  constexpr double kAlarmShare = 0.01, kMinChange = 0.1;
  if (before.empty() || after.empty()) return false;
  const double one = fixed(before), other = fixed(after);
  if (one >= 0 && other >= 0) return one != other;
  const double from = mean(before), to = mean(after);
  if (std::abs(to - from) < kMinChange * std::max(from, to)) return false;
  const double p = rank_test(block_means(before), block_means(after));
  return p <= kAlarmShare / static_cast<double>(std::max<std::size_t>(1, tests));
}

NameJoin::NameJoin(const StepProfile& before, const StepProfile& after)
    : before_(before), after_(after) {
  std::map<std::pair<NameKind, std::string_view>, std::size_t> known;
  for (const NameRow& row : before.names) {
    known[{row.kind, row.name}] = names_.size();
    names_.push_back({occurs(before, row) ? &row : nullptr, nullptr});
  }
  for (const NameRow& row : after.names) {
    const auto [at, fresh] = known.try_emplace({row.kind, row.name}, names_.size());
    if (fresh) names_.emplace_back();
    if (occurs(after, row)) names_[at->second].after = &row;
  }
  add_edges();
}

void NameJoin::add_edges() {
  std::unordered_map<const NameRow*, std::uint32_t> index_of;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Edge> edges;
  for (std::uint32_t i = 0; i < names_.size(); ++i) {
    if (names_[i].before != nullptr) index_of[names_[i].before] = i;
    if (names_[i].after != nullptr) index_of[names_[i].after] = i;
  }
  called_ns_.resize(names_.size(), 0);
  edges_.resize(names_.size());
  const auto add = [&](const StepProfile& profile, double Edge::*calls) {
    for (const CallEdge& call : profile.calls) {
      const NameRow& row = profile.names[call.parent];
      const auto parent = index_of.find(&row), child = index_of.find(&profile.names[call.child]);
      if (parent == index_of.end() || child == index_of.end() || row.calls <= 0) continue;
      Edge& edge = edges[{parent->second, child->second}];
      edge.child = child->second;
      edge.*calls = call.calls / row.calls;
      edge.ns = std::max(edge.ns, call.ns);
    }
  };
  add(before_, &Edge::calls_before);
  add(after_, &Edge::calls_after);
  for (const auto& [ends, edge] : edges) {
    edges_[ends.first].push_back(edge);
    called_ns_[edge.child] += edge.ns;
  }
}

PairedValues NameJoin::times(std::uint32_t name, float StepCell::*sum) const {
  const JoinedName& joint = names_[name];
  PairedValues pair;
  pair.id = name;
  pair.before = values_of(before_, joint.before, sum);
  pair.after = values_of(after_, joint.after, sum);
  pair.share_before = share_of(before_, joint.before, sum, pair.before);
  pair.share_after = share_of(after_, joint.after, sum, pair.after);
  pair.derive();
  return pair;
}

PairedValues NameJoin::times(StepMeasure measure) const {
  const auto values = [&](const StepProfile& profile) {
    const std::vector<double>& all = profile.of(measure);
    return Values(all.begin() + static_cast<std::ptrdiff_t>(std::min(profile.warm_up, all.size())),
                  all.end());
  };
  const auto share = [&](const StepProfile& profile, const Values& mine) {
    const double length = median(profile.of(StepMeasure::kLength));
    return length <= 0 ? 0 : median(mine) / length;
  };
  PairedValues pair;
  pair.before = values(before_);
  pair.after = values(after_);
  pair.share_before = share(before_, pair.before);
  pair.share_after = share(after_, pair.after);
  pair.derive();
  return pair;
}

Values NameJoin::calls(const StepProfile& profile, const NameRow* row) {
  Values values(profile.cells() - profile.warm_up, 0);
  if (row == nullptr) return values;
  for (const StepCell& cell : row->cells)
    if (kept(profile, cell)) values[cell.index - profile.warm_up] = cell.calls;
  return values;
}

/// Names call each other in circles: shares are passed on until they settle.
std::unordered_map<std::uint32_t, double> NameJoin::callers_share(std::uint32_t name) const {
  constexpr int kMaxCallDepth = 64;
  std::unordered_map<std::uint32_t, double> share, passed{{name, 1}}, next;
  for (int depth = 0; depth < kMaxCallDepth && !passed.empty(); ++depth) {
    next.clear();
    for (const auto& [parent, its_share] : passed) {
      for (const Edge& edge : edges_[parent]) {
        if (called_ns_[edge.child] <= 0) continue;
        const double more = its_share * edge.ns / called_ns_[edge.child];
        if (more >= 0.01) next[edge.child] += more;
      }
    }
    for (const auto& [child, more] : next) share[child] = std::min(1.0, share[child] + more);
    passed.swap(next);
  }
  return share;
}

std::vector<std::string> NameJoin::changed_calls(std::uint32_t name, double* share) const {
  std::vector<std::string> changed;
  for (const Edge& edge : edges_[name]) {
    const double from = whole(edge.calls_before), to = whole(edge.calls_after);
    if (from < 0 || to < 0 || from == to) continue;
    changed.push_back(fmt::format("{} {} → {}", names_[edge.child].any().name, from, to));
    const StepProfile& profile = edge.calls_before > edge.calls_after ? before_ : after_;
    *share += (to - from) / std::max(from, to) * edge.ns / std::max(1.0, compared_ns(profile));
  }
  return changed;
}

}  // namespace gpuprof::report::diff
