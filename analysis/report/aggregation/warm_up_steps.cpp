// SPDX-License-Identifier: Apache-2.0
//
// Steps at the begin that take longer than those after them.
//
// Context:  cli
#include "analysis/report/aggregation/warm_up_steps.hpp"

#include <algorithm>
#include <vector>

#include "analysis/export/labels/event_counters.hpp"

namespace gpuprof::report {
namespace {

constexpr double kLongerThan = 0.9;  // of the later half

double at_share(const std::vector<std::uint64_t>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto high = std::min(low + 1, sorted.size() - 1);
  const auto from = static_cast<double>(sorted[low]), to = static_cast<double>(sorted[high]);
  return from + (at - static_cast<double>(low)) * (to - from);
}

}  // namespace

bool is_first_program_step(const model::Step& step) {
  // Steps of torch.profiler carry its own count, and a file of its may begin with any of them.
  const bool named = static_cast<exporter::StepOrigin>(step.source) == exporter::StepOrigin::kUser;
  return step.number == 0 && (!named || step.label == 0);
}

std::size_t count_warm_up_steps(std::span<const std::uint64_t> lengths) {
  if (lengths.size() < 2) return 0;
  const auto half = lengths.subspan(lengths.size() / 2);
  std::vector<std::uint64_t> later(half.begin(), half.end());
  std::sort(later.begin(), later.end());
  const double times = lengths.size() < kFewSteps ? kWarmUpFactorFewSteps : kWarmUpFactor;
  const double least = std::max(times * at_share(later, 0.5), at_share(later, kLongerThan));
  const std::size_t most = std::max<std::size_t>(1, lengths.size() / 3);
  std::size_t apart = 0;
  while (apart<most&& static_cast<double>(lengths[apart])> least) ++apart;
  return apart;
}

}  // namespace gpuprof::report
