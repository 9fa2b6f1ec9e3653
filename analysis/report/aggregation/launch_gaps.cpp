// SPDX-License-Identifier: Apache-2.0
//
// Idle time of GPUs that ends with a launch.
//
// Context:  any
#include "analysis/report/aggregation/launch_gaps.hpp"

#include <algorithm>
#include <map>

#include "analysis/export/containers/intervals.hpp"

namespace gpuprof::report {

using exporter::Intervals;

namespace {

/// What is in both of two merged sets.
Intervals both(const Intervals& a, const Intervals& b) { return subtract(a, subtract(a, b)); }

/// When threads were at operators or calls, or on their way from one to the next.
Intervals launching(const Timeline& t, const Dictionary& d) {
  std::vector<bool> loads(d.host.size());
  for (std::size_t key = 0; key < loads.size(); ++key)
    loads[key] = d.texts.text(d.host[key].name).starts_with("enumerate(DataLoader)");
  Intervals at_work, loading;
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    const HostKey& key = d.host[e.key];
    if (loads[e.key]) loading.push_back({e.start_ns, e.end_ns});
    const bool outermost =
        key.kind == OperatorKind::kApiCall ? t.outer[i] == kNoIndex : t.outer[i] == i;
    if (outermost && !key.encloses_steps) at_work.push_back({e.start_ns, e.end_ns});
  }
  normalize(at_work);
  for (std::size_t i = 0; i + 1 < at_work.size(); ++i)
    if (at_work[i + 1].start_ns - at_work[i].end_ns <= kMaxLaunchPauseNs)
      at_work[i].end_ns = at_work[i + 1].start_ns;
  normalize(at_work);
  normalize(loading);
  return subtract(at_work, loading);
}

Intervals steps_of(const Timeline& t) {
  Intervals steps;
  for (std::size_t i = t.warm_up; i < t.steps.size(); ++i)
    steps.push_back({t.steps[i].start_ns, t.steps[i].end_ns});
  if (t.steps.empty()) steps.push_back({t.first_ns, t.last_ns});
  normalize(steps);
  return steps;
}

}  // namespace

std::uint64_t launch_gap_ns(const Timeline& t, const Dictionary& d) {
  struct Gpu {
    std::uint64_t idle_since_ns, gap_ns = 0;
  };
  std::map<std::uint32_t, Gpu> gpus;
  if (t.gpu.empty()) return 0;
  const Intervals counted = both(launching(t, d), steps_of(t));
  std::uint64_t longest_ns = 0;
  for (const GpuEvent& g : t.gpu) {
    const GpuKey& key = d.gpu[g.key];
    const auto [at, fresh] = gpus.emplace(key.device, Gpu{g.end_ns});
    Gpu& gpu = at->second;
    if (fresh) continue;
    const bool kernel = key.kind == GpuKind::kKernel || key.kind == GpuKind::kGraph;
    if (kernel && g.start_ns > gpu.idle_since_ns && g.launch != kNoIndex &&
        t.host[g.launch].start_ns > gpu.idle_since_ns)
      gpu.gap_ns += overlap_ns(counted, gpu.idle_since_ns, g.start_ns);
    gpu.idle_since_ns = std::max(gpu.idle_since_ns, g.end_ns);
    longest_ns = std::max(longest_ns, gpu.gap_ns);
  }
  return longest_ns;
}

}  // namespace gpuprof::report
