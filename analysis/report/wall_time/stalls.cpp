// SPDX-License-Identifier: Apache-2.0
//
// Steps that stall.
//
// Context:  cli
#include "analysis/report/wall_time/stalls.hpp"

#include <algorithm>
#include <map>

namespace gpuprof::report {
namespace {

using advice::StepThread;
using advice::TimedStep;

constexpr double kToSigma = 1.4826;  // of the median of distances, in a normal distribution
/// Of what a step takes longer: what one line takes longer, to be reported.
constexpr double kPart = 0.25;
/// Usual steps that are looked at, and long ones.
constexpr std::size_t kUsual = 200, kMaxLongSteps = 20'000;
constexpr std::size_t kMinSteps = 3;
constexpr std::size_t kAllLines = 100;

std::uint64_t median(std::vector<std::uint64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

using Homes = std::map<LineKey, std::uint64_t>;
Homes by_home(const TimeAttributor& explainer, const Attribution& look) {
  Homes homes;
  for (const TimeShare& bit : look.bits) homes[explainer.loop_line(bit)] += bit.ns;
  return homes;
}

/// What a line usually takes of a step.
std::map<LineKey, double> usual_homes(const std::vector<const TimedStep*>& steps,
                                      TimeAttributor& explainer) {
  std::map<LineKey, double> sums;
  if (steps.empty()) return sums;
  const std::size_t every = (steps.size() + kUsual - 1) / kUsual;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < steps.size(); i += every, ++asked)
    for (const auto& [home, ns] :
         by_home(explainer, explainer.attribute_interval(steps[i]->start_ns, steps[i]->end_ns)))
      sums[home] += static_cast<double>(ns);
  for (auto& [home, ns] : sums) ns /= static_cast<double>(asked);
  return sums;
}

}  // namespace

std::vector<SlowSpot> find_stalls(const StepThread& step_thread, TimeAttributor& explainer,
                                  std::uint64_t* usual_ns) {
  *usual_ns = 0;
  if (step_thread.is_synthetic || step_thread.steps.empty()) return {};
  std::vector<std::uint64_t> lengths, distances;
  for (const TimedStep& step : step_thread.steps) lengths.push_back(step.length_ns());
  const std::uint64_t usual = *usual_ns = median(lengths);
  if (step_thread.steps.size() < kMinSteps) return {};
  for (const std::uint64_t ns : lengths) distances.push_back(ns > usual ? ns - usual : usual - ns);
  const auto spread = static_cast<std::uint64_t>(kStallSpreads * kToSigma *
                                                 static_cast<double>(median(std::move(distances))));
  const std::uint64_t least = std::max({usual, spread, kMinStallNs});
  std::vector<const TimedStep*> stalled, others;
  for (const TimedStep& step : step_thread.steps)
    (step.length_ns() >= usual + least ? stalled : others).push_back(&step);
  if (stalled.empty() || stalled.size() * 3 > step_thread.steps.size()) return {};
  if (stalled.size() > kMaxLongSteps) {
    std::nth_element(stalled.begin(), stalled.begin() + kMaxLongSteps, stalled.end(),
                     [](const auto* a, const auto* b) { return a->length_ns() > b->length_ns(); });
    stalled.resize(kMaxLongSteps);
    std::sort(stalled.begin(), stalled.end(),
              [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  }
  const std::map<LineKey, double> homes = usual_homes(others, explainer);
  LineAggregator lines(explainer, WallPhase::kSteps);
  for (const TimedStep* step : stalled) {
    const std::uint64_t more = step->length_ns() - usual;
    const Attribution look = explainer.attribute_interval(step->start_ns, step->end_ns);
    bool reported = false;
    for (const auto& [home, ns] : by_home(explainer, look)) {
      const auto known = homes.find(home);
      const auto usually = static_cast<std::uint64_t>(known == homes.end() ? 0 : known->second);
      if (ns <= usually || static_cast<double>(ns - usually) < kPart * static_cast<double>(more))
        continue;
      lines.add(look, home, ns - usually, step->label);
      reported = true;
    }
    if (!reported) lines.add_unknown(more, step->label);
  }
  return lines.finish(kAllLines);
}

}  // namespace gpuprof::report
