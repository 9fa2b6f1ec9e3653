// SPDX-License-Identifier: Apache-2.0
//
// From two StepProfiles to what changed.
//
// Context:  cli
#include "analysis/report/diff/significance/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/report/diff/data/metrics.hpp"
#include "analysis/report/diff/significance/context_diff.hpp"
#include "analysis/report/diff/significance/name_join.hpp"
#include "analysis/report/diff/significance/process_bias.hpp"

namespace gpuprof::report::diff {
namespace {

constexpr std::array kStepMetrics = {
    StepMetric{"step_time", "step time", Unit::kTime, StepMeasure::kLength,
               "how long a step takes"},
    StepMetric{"gpu_busy", "GPU busy", Unit::kTime, StepMeasure::kGpuBusy,
               "time in which some GPU did something"},
    StepMetric{"kernel_time", "kernels", Unit::kTime, StepMeasure::kKernel, "sum of kernels"},
    StepMetric{"copy_time", "copies and sets", Unit::kTime, StepMeasure::kCopy,
               "sum of copies and sets"},
    StepMetric{"wait_time", "host waits for the GPU", Unit::kTime, StepMeasure::kWait,
               "time the host waited for a GPU, as CUPTI saw it"},
    StepMetric{"kernels", "kernels launched", Unit::kCount, StepMeasure::kKernels,
               "number of kernels launched"},
};

bool is_of_gpu(StepMeasure measure) {
  return measure == StepMeasure::kGpuBusy || measure == StepMeasure::kKernel ||
         measure == StepMeasure::kCopy;
}

/// It occurs again and again, not only at some place of the recording.
bool lasts(const StepProfile& profile, const NameRow* row) {
  constexpr std::ptrdiff_t kMinCells = 3;
  const Values calls = NameJoin::calls(profile, row);
  return std::count_if(calls.begin(), calls.end(), [](double n) { return n > 0; }) >= kMinCells;
}

/// What the names of one table are held against.
struct ReferencePairs {
  std::vector<const PairedValues*>
      weighty;  // of these the median is made; by ratio, so that it is quick
  std::vector<const PairedValues*> by_id;  // null: not on both sides
  double share = 0;                        // of all, also those too small to weigh
  ReferenceShift usual;                    // of all
};

class ProfileComparison {
 public:
  ProfileComparison(const StepProfile& before, const StepProfile& after, const Limits& limits)
      : before_(before), after_(after), limits_(limits), pairs_(before, after) {}

  void run(ProcessDiff& diff) {
    const std::vector<PairedValues> self = gather(&StepCell::self_ns, false);
    const std::vector<PairedValues> total = gather(&StepCell::total_ns, false);
    const std::vector<PairedValues> launched = gather(&StepCell::self_device_ns, false);
    const std::vector<PairedValues> device = gather(&StepCell::total_device_ns, false);
    const std::vector<PairedValues> kernels = gather(&StepCell::self_device_ns, true);
    start_rows(diff);
    test_all(diff, self, self, &NameDiff::self, false, false);
    test_all(diff, total, self, &NameDiff::total, true, false);
    test_all(diff, device, launched, &NameDiff::device, true, true);
    test_all(diff, kernels, kernels, &NameDiff::device, false, true);
    diff.host = common(diff, self, &NameDiff::self);
    diff.gpu = common(diff, kernels, &NameDiff::device);
    finish_rows(diff);
    metrics(diff);
  }

 private:
  std::vector<PairedValues> gather(float StepCell::*sum, bool on_gpu) const {
    std::vector<PairedValues> all;
    for (std::uint32_t i = 0; i < pairs_.names().size(); ++i) {
      const JoinedName& joint = pairs_.names()[i];
      if (joint.any_row() == nullptr || (joint.any().kind >= NameKind::kKernel) != on_gpu) continue;
      PairedValues pair = pairs_.times(i, sum);
      if (median(pair.before) > 0 || median(pair.after) > 0) all.push_back(std::move(pair));
    }
    return all;
  }

  void start_rows(ProcessDiff& diff) const;
  void test_all(ProcessDiff& diff, const std::vector<PairedValues>& pairs,
                const std::vector<PairedValues>& others, Change NameDiff::*change, bool with_inner,
                bool on_gpu) const;
  ReferencePairs references_of(const std::vector<PairedValues>& pairs) const;
  ReferenceShift reference_without(const PairedValues& pair, const ReferencePairs& references,
                                   bool with_inner) const;
  CommonShift common(const ProcessDiff& diff, const std::vector<PairedValues>& pairs,
                     Change NameDiff::*change) const;
  void finish_rows(ProcessDiff& diff) const;
  void by_calls(NameDiff& row, std::uint32_t name, std::size_t tests) const;
  void by_presence(NameDiff& row, const JoinedName& joint) const;
  bool changed_inside(const ProcessDiff& diff, std::uint32_t name) const;
  const CommonShift& shift_of(const StepMetric& metric, const ProcessDiff& diff) const;
  void metrics(ProcessDiff& diff) const;

  const StepProfile& before_;
  const StepProfile& after_;
  const Limits limits_;
  const NameJoin pairs_;
};

void ProfileComparison::start_rows(ProcessDiff& diff) const {
  for (const JoinedName& joint : pairs_.names()) {
    NameDiff& row = diff.names.emplace_back();
    if (joint.any_row() == nullptr) continue;
    row.name = joint.any().name;
    row.kind = joint.any().kind;
    if (joint.after == nullptr) row.presence = Presence::kGone;
    if (joint.before == nullptr) row.presence = Presence::kNew;
    row.calls_before = typical_calls(NameJoin::calls(before_, joint.before));
    row.calls_after = typical_calls(NameJoin::calls(after_, joint.after));
    if (row.presence == Presence::kBoth) compare_shapes(*joint.before, *joint.after, row);
  }
}

/// Others are those not in it; where that leaves too little, all are.
ReferenceShift ProfileComparison::reference_without(const PairedValues& pair,
                                                    const ReferencePairs& references,
                                                    bool with_inner) const {
  constexpr double kMinShare = 0.15;  // of all references
  std::vector<bool> left_out(references.by_id.size(), false);
  double share = references.share;
  const auto leave_out = [&](std::uint32_t id) {
    if (!left_out[id] && references.by_id[id] != nullptr) share -= references.by_id[id]->share;
    left_out[id] = true;
  };
  leave_out(pair.id);
  if (with_inner)
    for (const auto& [id, its_share] : pairs_.callers_share(pair.id))
      if (its_share > 0.5) leave_out(id);
  std::vector<const PairedValues*> others;
  for (const PairedValues* one : references.weighty)
    if (!left_out[one->id]) others.push_back(one);
  const ReferenceShift reference = reference_of(others);
  if (reference.names >= kMinReferences && share >= kMinShare * references.share) return reference;
  return references.usual;
}

ReferencePairs ProfileComparison::references_of(const std::vector<PairedValues>& pairs) const {
  ReferencePairs references;
  references.by_id.resize(pairs_.names().size(), nullptr);
  for (const PairedValues& pair : pairs) {
    if (!pair.on_both_sides()) continue;
    references.by_id[pair.id] = &pair;
    references.share += pair.share;
    if (pair.share >= kReferenceShare) references.weighty.push_back(&pair);
  }
  // More can only weigh so much where the time of each is in that of many others as well.
  constexpr std::size_t kMax = 1000;
  std::vector<const PairedValues*>& weighty = references.weighty;
  if (weighty.size() > kMax) {
    std::nth_element(
        weighty.begin(), weighty.begin() + kMax, weighty.end(),
        [](const PairedValues* a, const PairedValues* b) { return a->share > b->share; });
    weighty.resize(kMax);
  }
  std::sort(weighty.begin(), weighty.end(), [](const PairedValues* a, const PairedValues* b) {
    return a->log_ratio < b->log_ratio;
  });
  references.usual = reference_of(weighty);
  return references;
}

void ProfileComparison::test_all(ProcessDiff& diff, const std::vector<PairedValues>& pairs,
                                 const std::vector<PairedValues>& others, Change NameDiff::*change,
                                 bool with_inner, bool on_gpu) const {
  const auto large = [&](const PairedValues& pair) {
    return std::max(pair.share_before, pair.share_after) >= limits_.share;
  };
  const ReferencePairs references = references_of(others);
  SignificanceOptions judging;
  judging.limits = limits_;
  judging.tests = static_cast<std::size_t>(std::count_if(pairs.begin(), pairs.end(), large));
  for (const PairedValues& pair : pairs) {
    // What is small as a whole is hardly ever claimed, and takes no part in the median.
    judging.reference =
        large(pair) ? reference_without(pair, references, with_inner) : references.usual;
    judging.unknown_machine = judging.reference.names < kMinReferences && !on_gpu;
    diff.names[pair.id].*change = test_significance(pair, judging);
  }
}

/// Without what changed by itself.
CommonShift ProfileComparison::common(const ProcessDiff& diff,
                                      const std::vector<PairedValues>& pairs,
                                      Change NameDiff::*change) const {
  std::vector<const PairedValues*> unchanged;
  std::vector<double> limits;
  std::vector<Weighted> spreads;
  for (const PairedValues& pair : pairs) {
    const Change& its = diff.names[pair.id].*change;
    if (!pair.on_both_sides() || its.significant) continue;
    unchanged.push_back(&pair);
    spreads.push_back(
        {std::max(relative_spread(pair.before), relative_spread(pair.after)), pair.share});
    if (pair.share >= limits_.share) limits.push_back(its.threshold);
  }
  const ReferenceShift reference = reference_of(unchanged);
  CommonShift common;
  common.known = reference.names >= kMinReferences;
  common.names = reference.names;
  common.factor = std::exp(reference.log_factor);
  common.spread_deviation = reference.deviation;
  std::vector<Weighted> off;
  for (const PairedValues* pair : unchanged)
    off.push_back({std::abs(pair->log_ratio - reference.log_factor), pair->share});
  common.scatter = weighted_median(off);
  common.detectable_change = median(limits);
  common.spread = weighted_median(spreads);
  return common;
}

/// Numbers of calls are the same in every run of a program: where they differ, no noise does it.
void ProfileComparison::by_calls(NameDiff& row, std::uint32_t name, std::size_t tests) const {
  if (!before_.has_steps || row.presence != Presence::kBoth) return;
  const JoinedName& joint = pairs_.names()[name];
  row.calls_changed = calls_differ(NameJoin::calls(before_, joint.before),
                                   NameJoin::calls(after_, joint.after), tests);
  const auto settle = [this](Change& change, double share) {
    if (change.measured && std::abs(share) >= limits_.share) change.significant = true;
  };
  if (row.calls_changed) {
    const double ratio = row.calls_after / row.calls_before - 1;
    for (Change* change : {&row.self, &row.total, &row.device})
      settle(*change, ratio * change->share_before);
  }
  double share = 0;
  row.inner_calls = pairs_.changed_calls(name, &share);
  settle(row.total, share);
}

void ProfileComparison::by_presence(NameDiff& row, const JoinedName& joint) const {
  const Change& change = row.primary_change();
  if (row.presence == Presence::kGone)
    row.significant = change.share_before >= limits_.share && lasts(before_, joint.before);
  if (row.presence == Presence::kNew)
    row.significant = change.share_after >= limits_.share && lasts(after_, joint.after);
}

/// Something most of which is in this name is claimed for what the program does.
bool ProfileComparison::changed_inside(const ProcessDiff& diff, std::uint32_t name) const {
  const auto inside = pairs_.callers_share(name);
  return std::any_of(inside.begin(), inside.end(), [&](const auto& one) {
    const NameDiff& row = diff.names[one.first];
    return one.second > 0.5 && row.significant && row.program_changed();
  });
}

void ProfileComparison::finish_rows(ProcessDiff& diff) const {
  std::size_t tests = 0;
  for (const NameDiff& row : diff.names)
    tests += row.primary_change().share_before >= limits_.share;
  for (std::uint32_t i = 0; i < diff.names.size(); ++i) {
    NameDiff& row = diff.names[i];
    by_calls(row, i, tests);
    row.summarize();
    by_presence(row, pairs_.names()[i]);
  }
  for (std::uint32_t i = 0; i < diff.names.size(); ++i) {
    NameDiff& row = diff.names[i];
    if (!row.significant || row.program_changed()) continue;
    mark_unconfirmed(row.self);
    if (row.total.significant && !changed_inside(diff, i)) mark_unconfirmed(row.total);
    row.summarize();
  }
  std::erase_if(diff.names, [](const NameDiff& row) { return row.name.empty(); });
  diff.sort_names();
}

/// What a step is made of tells how much it may differ: kernels where they fill most of it.
const CommonShift& ProfileComparison::shift_of(const StepMetric& metric,
                                               const ProcessDiff& diff) const {
  constexpr double kMaxShareOfStep = 0.5;
  const bool gpu_bound = pairs_.times(StepMeasure::kGpuBusy).share >= kMaxShareOfStep;
  return is_of_gpu(metric.measure) || (gpu_bound && diff.gpu.known) ? diff.gpu : diff.host;
}

/// The common factor is that of host or GPU, whichever explains more.
void ProfileComparison::metrics(ProcessDiff& diff) const {
  const double held_back = unconfirmed_ns(diff.names, pairs_.times(StepMeasure::kLength));
  for (const StepMetric& metric : kStepMetrics) {
    if (!diff.by_step && metric.measure == StepMeasure::kLength) continue;
    const PairedValues pair = pairs_.times(metric.measure);
    if (mean(pair.before) == 0 && mean(pair.after) == 0) continue;
    SignificanceOptions judging;
    judging.limits = limits_;
    judging.tests = kStepMetrics.size();
    const double raw = pair.log_ratio;
    for (const CommonShift* common : {&diff.host, &diff.gpu}) {
      const double factor = std::log(common->factor);
      if (common->known && std::abs(raw - factor) < std::abs(raw - judging.reference.log_factor))
        judging.reference.log_factor = factor;
    }
    // What else runs on the machine lengthens each step, but an operator only now and then: a
    // step can vary less than what it is made of, and tells no more for that.
    const CommonShift& parts = shift_of(metric, diff);
    judging.own_spreads = 2;
    judging.least_spread = std::max({parts.spread, 2 * parts.scatter, relative_spread(pair.before),
                                     relative_spread(pair.after)});
    judging.unknown_machine = !parts.known && !is_of_gpu(metric.measure);
    MetricDiff& row = diff.metrics.emplace_back();
    row.name = metric.name;
    row.change = test_significance(pair, judging);
    if (metric.unit == Unit::kCount)
      row.change.significant = calls_differ(pair.before, pair.after, 1) &&
                               std::abs(row.change.relative) >= limits_.change;
    if (metric.measure == StepMeasure::kLength && std::abs(row.change.relative) < limits_.change)
      row.change.significant = false;
    if (metric.measure == StepMeasure::kLength)
      mark_step_unconfirmed(row.change, pair, judging, held_back);
    // A host that comes later waits less.
    if (metric.measure == StepMeasure::kWait)
      mark_step_unconfirmed(row.change, pair, judging, -held_back);
  }
}

}  // namespace

std::span<const StepMetric> step_metrics() { return kStepMetrics; }

ProcessDiff compare(StepProfile before, StepProfile after, const Limits& limits) {
  ProcessDiff diff;
  diff.by_step = before.has_steps && after.has_steps;
  if (before.cells() != 0 && after.cells() != 0) ProfileComparison(before, after, limits).run(diff);
  compare_memory(before, after, limits, diff);
  compare_context(before, after, diff);
  for (StepProfile* profile : {&before, &after}) {
    profile->names.clear();
    profile->calls.clear();
  }
  diff.before = std::move(before);
  diff.after = std::move(after);
  return diff;
}

}  // namespace gpuprof::report::diff
