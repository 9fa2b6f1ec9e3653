// SPDX-License-Identifier: Apache-2.0
//
// Stretches of time by the line that took them.
//
// Context:  cli
#include <algorithm>
#include <array>

#include "analysis/messages/report_shared.hpp"
#include "analysis/report/wall_time/host_activity.hpp"
#include "analysis/report/wall_time/time_attribution.hpp"

namespace gpuprof::report {
namespace {

/// A line further in is named where it takes so much of what lies in it.
constexpr double kDominantShare = 0.6;
/// So many operators in a row that autograd did not number are no accident.
constexpr std::uint64_t kEvaluationOps = 10;
constexpr std::uint64_t kOneTime = 10;

/// What has most time.
template <typename Key>
Key most(const std::map<Key, std::uint64_t>& sums) {
  return std::max_element(sums.begin(), sums.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

void LineAggregator::merge(LineTotals& group, const TimeShare& bit) {
  for (TimeShare& known : group.bits) {
    if (known.chain != bit.chain || known.doing != bit.doing || known.name != bit.name ||
        known.callee != bit.callee || known.seen != bit.seen || known.gap != bit.gap ||
        known.sequenced != bit.sequenced)
      continue;
    known.ns += bit.ns;
    known.ops += bit.ops;
    known.weight_ns += bit.weight_ns;
    return;
  }
  group.bits.push_back(bit);
}

/// How often and when; what took less than a tenth of the longest one is no time of its own.
void LineAggregator::count(const LineTotals& group, SlowSpot& stretch) {
  for (const LabeledTime& time : group.times)
    stretch.longest_ns = std::max(stretch.longest_ns, time.ns);
  std::vector<std::uint64_t> labels;
  for (const LabeledTime& time : group.times) {
    if (time.ns < stretch.longest_ns / kOneTime) continue;
    ++stretch.count;
    labels.push_back(time.label);
  }
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  labels.resize(std::min(labels.size(), SlowSpot::kMaxLabels));
  stretch.labels = std::move(labels);
}

void LineAggregator::add(const Attribution& look, std::uint64_t label) {
  std::map<LineKey, std::uint64_t> sums;
  for (const TimeShare& bit : look.bits) {
    const LineKey home = e_.loop_line(bit);
    merge(groups_[home], bit);
    sums[home] += bit.ns;
  }
  for (const auto& [home, ns] : sums) {
    groups_[home].ns += ns;
    groups_[home].times.push_back({label, ns});
  }
}

void LineAggregator::add(const Attribution& look, const LineKey& home, std::uint64_t ns,
                         std::uint64_t label) {
  LineTotals& group = groups_[home];
  for (const TimeShare& bit : look.bits)
    if (e_.loop_line(bit) == home) merge(group, bit);
  group.ns += ns;
  group.times.push_back({label, ns});
}

void LineAggregator::add_unknown(std::uint64_t ns, std::uint64_t label) {
  groups_[{}].ns += ns;
  groups_[{}].times.push_back({label, ns});
}

/// Time between two lines, in which no sample was taken, belongs to the line there that samples saw
/// at other times.
void LineAggregator::merge_gaps_into_lines() {
  const auto& frames = e_.step_thread().places.frames;
  for (auto gap = groups_.begin(); gap != groups_.end();) {
    const auto [from, to] = gap->first;
    LineKey best;
    std::uint64_t most_ns = 0;
    for (const auto& [key, group] : groups_) {
      if (to == 0 || key.frame == 0 || key.after != 0) continue;
      const StackFrame &left = frames[from], &right = frames[to], &line = frames[key.frame];
      if (line.file != left.file || line.name != left.name) continue;
      const bool within = left.line < right.line
                              ? line.line >= left.line && line.line <= right.line
                              : line.line >= left.line || line.line <= right.line;
      std::uint64_t seen_ns = 0;
      for (const TimeShare& bit : group.bits) seen_ns += bit.gap && bit.seen ? bit.ns : 0;
      if (!within || seen_ns <= most_ns) continue;
      most_ns = seen_ns;
      best = key;
    }
    if (best.frame == 0) {
      ++gap;
      continue;
    }
    LineTotals& into = groups_[best];
    into.ns += gap->second.ns;
    into.times.insert(into.times.end(), gap->second.times.begin(), gap->second.times.end());
    gap = groups_.erase(gap);
  }
}

/// The line of a group: that of the loop's level, or the one further in that takes most of it.
void LineAggregator::set_location(const LineKey& home, const LineTotals& group,
                                  HostActivity& reported) {
  const auto& frames = e_.step_thread().places.frames;
  LineKey at = home;
  std::vector<const TimeShare*> bits;
  std::uint64_t all = 0;
  for (const TimeShare& bit : group.bits) {
    bits.push_back(&bit);
    all += bit.ns;
  }
  std::map<std::string, std::uint64_t> names;
  for (std::size_t depth = 1;; ++depth) {
    std::map<LineKey, std::uint64_t> next;
    names.clear();
    for (const TimeShare* bit : bits) {
      const UserFrames& chain = e_.chain(*bit);
      const std::size_t i = e_.loop_depth(*bit) + depth;
      if (i < chain.size()) {
        next[chain[i]] += bit->ns;
        names[frames[chain[i].frame].name] += bit->ns;
      } else if (bit->name != 0) {
        names[e_.step_thread().names[bit->name]] += bit->ns;
      } else if (bit->callee != 0) {
        names[call_name(frames[bit->callee], bit->doing)] += bit->ns;
      }
    }
    // Who evaluates less looks at the call, not at what is called.
    if (next.empty() || reported.kind == HostActivityKind::kEvaluation) break;
    const LineKey deeper = most(next);
    if (static_cast<double>(next[deeper]) < kDominantShare * static_cast<double>(all)) break;
    at = deeper;
    std::erase_if(bits, [&](const TimeShare* bit) {
      const UserFrames& chain = e_.chain(*bit);
      const std::size_t i = e_.loop_depth(*bit) + depth;
      return i >= chain.size() || chain[i] != at;
    });
  }
  if (!names.empty()) reported.what = most(names);
  if (at.frame == 0) return;
  const StackFrame& frame = frames[at.frame];
  reported.file = frame.file;
  reported.function = frame.name;
  reported.line = reported.last_line = frame.line;
  reported.line_source = reported.kind == HostActivityKind::kGilWait
                             ? messages::report_shared::kLineByOtherThread
                             : "";
  if (at.after == 0) return;
  const advice::SourceLines::LineSpan span =
      e_.sources().lines_between(frame.file, frame.line, frames[at.after].line);
  reported.line = span.first;
  reported.last_line = span.last;
  reported.line_source = span.from_text ? messages::report_shared::kLineBySourceCode
                                        : messages::report_shared::kLineByNeighbours;
  if (span.waits && reported.kind == HostActivityKind::kUserCode)
    reported.kind = HostActivityKind::kWaiting;
}

HostActivity LineAggregator::make_activity(const LineKey& home, const LineTotals& group) {
  HostActivity reported;
  reported.ns = group.ns;
  std::map<HostActivityKind, std::uint64_t> doing;
  std::uint64_t all = 0, seen = 0, weights = 0, sampled = 0, free_ops = 0, numbered = 0;
  for (const TimeShare& bit : group.bits) {
    doing[bit.doing] += bit.ns;
    all += bit.ns;
    if (bit.seen) seen += bit.ns;
    weights += std::min(bit.weight_ns, bit.ns);
    if (bit.weight_ns != 0) sampled += bit.ns;
    (bit.sequenced ? numbered : free_ops) += bit.ops;
  }
  if (all == 0) return reported;
  reported.kind = most(doing);
  const bool no_grad =
      numbered == 0 && free_ops >= kEvaluationOps * std::max<std::uint64_t>(1, group.times.size());
  if (reported.kind == HostActivityKind::kOperators && no_grad && e_.runs_backward())
    reported.kind = HostActivityKind::kEvaluation;
  reported.observed_share = static_cast<double>(seen) / static_cast<double>(all);
  reported.sampled_share = static_cast<double>(weights) / static_cast<double>(all);
  set_location(home, group, reported);
  if (reported.line_source.empty() && reported.line != 0)
    reported.line_source = 2 * sampled >= all ? messages::report_shared::kLineBySamples
                                              : messages::report_shared::kLineByOperators;
  return reported;
}

std::vector<SlowSpot> LineAggregator::finish(std::size_t most_lines) {
  merge_gaps_into_lines();
  std::vector<SlowSpot> found;
  for (auto& [home, group] : groups_) {
    if (group.ns == 0) continue;
    SlowSpot stretch;
    stretch.part = part_;
    stretch.activity = make_activity(home, group);
    count(group, stretch);
    found.push_back(std::move(stretch));
  }
  std::sort(found.begin(), found.end(),
            [](const SlowSpot& a, const SlowSpot& b) { return a.activity.ns > b.activity.ns; });
  if (found.size() > most_lines) found.resize(most_lines);
  return found;
}

}  // namespace gpuprof::report
