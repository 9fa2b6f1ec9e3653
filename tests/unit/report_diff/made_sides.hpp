// SPDX-License-Identifier: Apache-2.0
//
// Recordings made of random numbers, as those of two runs of one program are.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "analysis/report/diff/significance/compare.hpp"

namespace gpuprof::report::diff::test {

/// Pairs or triples of a rate of alarms. What an instrumented build looks for is in any of them,
/// and each takes ten times as long there.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kManyRuns = 50;
#else
inline constexpr int kManyRuns = 300;
#endif

struct Noise {
  double step = 0.03;    // of an operator, from step to step
  double keeps = 0.6;    // of a step's deviation that the next one has too
  double drift = 0.03;   // of all together, between processes
  double own = 0.01;     // of each, between processes
  double spikes = 0.05;  // of steps in which something else took the processor
  double bistable = 0;   // of processes: an operator takes 1.6 times as long in all of its steps
  std::size_t bistable_from = 0, bistable_to = ~std::size_t{0};  // operators that do
};

class SyntheticProgram {
 public:
  explicit SyntheticProgram(unsigned seed) : random_(seed) {}

  /// A run: operators op0, op1, … with these times of a step, times `factor` for one of them.
  StepProfile run(const std::vector<double>& times_ns, std::size_t steps, const Noise& noise,
                  std::size_t slow = ~std::size_t{0}, double factor = 1) {
    StepProfile profile;
    profile.has_steps = true;
    profile.steps = steps;
    for (auto& values : profile.by_cell) values.assign(steps, 0);
    std::vector<double>& lengths = profile.by_cell[0];
    const double all = std::exp(noise.drift * normal_(random_));
    for (std::size_t i = 0; i < times_ns.size(); ++i) {
      NameRow row{
          "op" + std::to_string(i), NameKind::kOperator, {}, {}, static_cast<double>(steps)};
      double usual =
          times_ns[i] * all * std::exp(noise.own * normal_(random_)) * (i == slow ? factor : 1);
      const bool may_be_slow = i >= noise.bistable_from && i < noise.bistable_to;
      if (noise.bistable > 0 && may_be_slow && even_(random_) < noise.bistable) usual *= 1.6;
      double deviation = 0;
      for (std::size_t step = 0; step < steps; ++step) {
        deviation = noise.keeps * deviation +
                    std::sqrt(1 - noise.keeps * noise.keeps) * noise.step * normal_(random_);
        double ns = usual * std::exp(deviation);
        if (even_(random_) < noise.spikes) ns *= 1 + 3 * even_(random_);
        lengths[step] += ns;
        const auto time = static_cast<float>(ns);
        row.cells.push_back({static_cast<std::uint32_t>(step), 1, time, time, 0, 0});
      }
      profile.names.push_back(std::move(row));
    }
    return profile;
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> even_;
};

/// Times of a step as they are in a network: a few large ones, many small.
inline std::vector<double> usual_times() {
  return {4e6, 3e6, 2e6, 1.5e6, 1e6, 8e5, 5e5, 4e5, 3e5, 2e5, 1.5e5, 1e5, 8e4, 5e4, 3e4, 2e4};
}

inline std::vector<std::string> significant_names(const ProcessDiff& diff) {
  std::vector<std::string> names;
  for (const NameDiff& row : diff.names)
    if (row.significant) names.push_back(row.name);
  for (const MetricDiff& row : diff.metrics)
    if (row.change.significant) names.emplace_back(row.name);
  return names;
}

inline std::vector<std::string> names_seen_once(const ProcessDiff& diff) {
  std::vector<std::string> names;
  for (const NameDiff& row : diff.names)
    if (row.is_unconfirmed) names.push_back(row.name);
  for (const MetricDiff& row : diff.metrics)
    if (row.change.is_unconfirmed) names.emplace_back(row.name);
  return names;
}

inline const NameDiff* find(const ProcessDiff& diff, const std::string& name) {
  for (const NameDiff& row : diff.names)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace gpuprof::report::diff::test
