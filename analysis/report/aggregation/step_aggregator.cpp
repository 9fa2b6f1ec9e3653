// SPDX-License-Identifier: Apache-2.0
//
// What steps were spent on, by the rules of TensorBoard's PyTorch plugin.
//
// Context:  cli
#include "analysis/report/aggregation/step_aggregator.hpp"

#include <algorithm>

#include "analysis/export/labels/event_counters.hpp"

namespace gpuprof::report {
namespace {

using exporter::OpKind;

constexpr auto kCategories = static_cast<std::size_t>(Category::kCount);

/// One around everything, where no step was recorded.
StepRow synthetic_step(const Timeline& t) {
  StepRow step;
  step.window = t.window;
  step.is_synthetic = true;
  step.start_ns = step.host_start_ns = t.first_ns;
  step.end_ns = step.host_end_ns = t.last_ns;
  return step;
}

/// A step lasts until the GPU work launched in it has ended; the next begins then.
void extend_to_gpu_end(const Timeline& t, std::vector<StepRow>& steps) {
  struct Work {
    std::uint64_t first = ~0ULL, last = 0;
  };
  std::vector<Work> work(steps.size());
  std::uint64_t first_of_first = ~0ULL;
  bool any = false;
  for (const GpuEvent& g : t.gpu) {
    if (g.launch == kNoIndex || t.host[g.launch].step == kNoIndex) continue;
    const Index i = t.host[g.launch].step;
    if (t.host[g.launch].end_ns > steps[i].host_end_ns) continue;
    work[i].first = std::min(work[i].first, g.start_ns);
    work[i].last = std::max(work[i].last, g.end_ns);
    any = true;
  }
  if (!any) return;
  first_of_first = work[0].first;
  std::uint64_t previous = 0;
  for (const GpuEvent& g : t.gpu) {
    const bool inside = g.launch != kNoIndex && t.host[g.launch].step != kNoIndex;
    if (!inside && g.end_ns < first_of_first && work[0].last != 0)
      previous = std::max(previous, g.end_ns);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].start_ns = std::max(previous, steps[i].host_start_ns);
    steps[i].end_ns = std::max({steps[i].host_end_ns, work[i].last, steps[i].start_ns});
    previous = steps[i].end_ns;
  }
}

/// From the first step that counts to the end of the last one that does.
Interval counted_span(const std::vector<StepRow>& steps) {
  const auto counts = [](const StepRow& step) { return step.is_counted; };
  const auto first = std::find_if(steps.begin(), steps.end(), counts);
  const auto last = std::find_if(steps.rbegin(), steps.rend(), counts);
  if (first == steps.end()) return {steps.back().end_ns, steps.back().end_ns};
  return {first->start_ns, last->end_ns};
}

}  // namespace

std::vector<StepRow> step_rows(const Timeline& t) {
  std::vector<StepRow> steps;
  for (std::size_t i = 0; i < t.steps.size(); ++i) {
    StepRow& step = steps.emplace_back();
    step.label = t.steps[i].label;
    step.window = t.window;
    step.start_ns = step.host_start_ns = t.steps[i].start_ns;
    step.end_ns = step.host_end_ns = t.steps[i].end_ns;
    step.where = t.step_places[i];
  }
  extend_to_gpu_end(t, steps);
  return steps;
}

std::string_view name_of(Category category) {
  constexpr std::array<std::string_view, kCategories> kNames = {
      "Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other"};
  return kNames[static_cast<std::size_t>(category)];
}

/// The first steps may stand apart, and the last ones have been torn by the recording's end.
void StepAggregator::keep(const Timeline& t, std::vector<StepRow>& steps) const {
  const std::size_t apart = std::min(t.warm_up, steps.size());
  for (std::size_t i = 0; i < apart; ++i) {
    steps[i].is_counted = false;
    steps[i].warm_up = true;
  }
  std::vector<std::uint64_t> nodes(steps.size(), 0);
  for (const GpuEvent& g : t.gpu)
    if (g.launch != kNoIndex && g.step != kNoIndex) ++nodes[g.step];
  if (std::all_of(nodes.begin(), nodes.end(), [](std::uint64_t n) { return n == 0; })) return;
  std::size_t kept = steps.size();
  while (kept > apart + 1 && nodes[kept - 1] == 0) --kept;
  if (kept > apart + 1 &&
      static_cast<double>(nodes[kept - 1]) < 0.8 * static_cast<double>(nodes[kept - 2]))
    --kept;
  for (std::size_t i = kept; i < steps.size(); ++i) steps[i].is_counted = false;
}

void StepAggregator::break_down(const Timeline& t, std::vector<StepRow>& steps) const {
  std::array<Intervals, kCategories - 1> sets;
  const auto at = [&](Category c) -> Intervals& { return sets[static_cast<std::size_t>(c)]; };
  Intervals busy;
  for (const GpuEvent& g : t.gpu) {
    const GpuKey& key = d_.gpu[g.key];
    if (key.copy_by_cpu) continue;
    const bool talks = key.nccl || (g.owner != kNoIndex &&
                                    d_.host[t.host[g.owner].key].op == OpKind::kKnownCollective);
    Category category = talks ? Category::kCommunication : Category::kKernel;
    if (key.kind == GpuKind::kCopy) category = Category::kMemcpy;
    if (key.kind == GpuKind::kSet) category = Category::kMemset;
    at(category).push_back({g.start_ns, g.end_ns});
    busy.push_back({g.start_ns, g.end_ns});
  }
  const auto category_of = [&](const HostEvent& e) {
    const HostKey& key = d_.host[e.key];
    if (key.kind == OperatorKind::kApiCall)
      return key.is_standalone_sync ? Category::kOther : Category::kRuntime;
    if (key.encloses_steps || key.op == OpKind::kProfilerStep ||
        key.kind == OperatorKind::kOverhead || key.kind == OperatorKind::kPythonCall)
      return Category::kOther;
    if (key.op == OpKind::kKnownCollective) return Category::kCommunication;
    return exporter::is_data_loader(d_.texts.text(key.name)) ? Category::kDataLoader
                                                             : Category::kCpuExec;
  };
  std::vector<Category> by_key(d_.host.size(), Category::kCount);
  for (const HostEvent& e : t.host) {
    Category& category = by_key[e.key];
    if (category == Category::kCount) category = category_of(e);
    if (category == Category::kOther) continue;
    // What lies in one of its own kind adds nothing.
    if (e.parent != kNoIndex && by_key[t.host[e.parent].key] == category) continue;
    at(category).push_back({e.start_ns, e.end_ns});
  }
  Intervals covered;
  normalize(busy);
  for (StepRow& step : steps) step.time.back() = step.length_ns();
  for (std::size_t c = 0; c < sets.size(); ++c) {
    normalize(sets[c]);
    const Intervals own = subtract(sets[c], covered);
    for (StepRow& step : steps) {
      step.time[c] = overlap_ns(own, step.start_ns, step.end_ns);
      step.time.back() -= step.time[c];
    }
    covered = unite(covered, sets[c]);
  }
  for (StepRow& step : steps) step.gpu_busy_ns = overlap_ns(busy, step.start_ns, step.end_ns);
}

void StepAggregator::count(const Timeline& t, std::vector<StepRow>& steps) const {
  const bool synthetic_step = t.steps.empty();
  const auto of = [&](Index step) -> StepRow* {
    return synthetic_step ? &steps[0] : step == kNoIndex ? nullptr : &steps[step];
  };
  std::vector<bool> launches(t.host.size(), false);
  for (const GpuEvent& g : t.gpu) {
    if (g.launch != kNoIndex) launches[g.launch] = true;
    StepRow* const step = of(g.step);
    if (step == nullptr || d_.gpu[g.key].kind != GpuKind::kKernel) continue;
    ++step->kernels;
    step->kernel_ns += g.length_ns();
  }
  for (std::size_t i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    const HostKey& key = d_.host[e.key];
    if (key.kind != OperatorKind::kApiCall || e.nested_call) continue;
    StepRow* const step = of(e.step);
    if (step == nullptr) continue;
    if (launches[i]) step->launch_ns += e.length_ns();
    if (!key.waits) continue;
    ++step->waits;
    step->wait_ns += e.length_ns();
  }
}

void StepAggregator::memory(const Timeline& t, std::vector<StepRow>& steps) {
  std::size_t i = 0;
  for (StepRow& step : steps) {
    while (i < t.allocations.size() && t.allocations[i].ts_ns < step.host_start_ns) ++i;
    for (std::size_t k = i; k < t.allocations.size(); ++k) {
      const AllocationEvent& a = t.allocations[k];
      if (a.ts_ns >= step.host_end_ns) break;
      std::uint64_t& peak = a.device < 0 ? step.peak_cpu_bytes : step.peak_gpu_bytes;
      peak = std::max(peak, a.allocated_bytes);
      if (a.bytes <= 0) continue;
      ++step.allocations;
      step.allocated_bytes += static_cast<std::uint64_t>(a.bytes);
    }
  }
  for (const AllocationEvent& a : t.allocations) {
    const auto gpu = a.device < 0 ? gpus_.end() : gpus_.find(static_cast<std::uint32_t>(a.device));
    if (gpu == gpus_.end()) continue;
    GpuSummary& s = gpu->second.summary;
    s.peak_allocated_bytes = std::max(s.peak_allocated_bytes, a.allocated_bytes);
    s.peak_reserved_bytes = std::max(s.peak_reserved_bytes, a.reserved_bytes);
  }
}

void StepAggregator::one_gpu(const Timeline& t, const std::vector<StepRow>& steps, Interval span,
                             GpuAggregate& gpu) const {
  Intervals kernels;
  std::vector<std::pair<std::uint64_t, double>> changes;
  for (const GpuEvent& g : t.gpu) {
    const GpuKey& key = d_.gpu[g.key];
    const bool kernel = key.kind == GpuKind::kKernel || key.kind == GpuKind::kGraph;
    if (!kernel || key.device != gpu.summary.device) continue;
    const Interval clipped{std::max(g.start_ns, span.start_ns), std::min(g.end_ns, span.end_ns)};
    if (g.owner != kNoIndex && d_.host[t.host[g.owner].key].kind == OperatorKind::kOperator) {
      gpu.attributed_ns += g.length_ns();
      if (key.tensor_core) gpu.tensor_ns += g.length_ns();
    }
    if (clipped.end_ns <= clipped.start_ns) continue;
    const std::uint64_t length = clipped.end_ns - clipped.start_ns;
    ++gpu.summary.kernels;
    gpu.summary.kernel_ns += length;
    gpu.occupancy_ns += key.occupancy_percent * static_cast<double>(length);
    kernels.push_back(clipped);
    if (key.blocks_per_sm <= 0) continue;
    changes.emplace_back(clipped.start_ns, key.blocks_per_sm);
    changes.emplace_back(clipped.end_ns, -key.blocks_per_sm);
  }
  normalize(kernels);
  for (const Interval& busy : kernels) gpu.summary.busy_ns += busy.end_ns - busy.start_ns;
  for (const StepRow& step : steps)
    if (step.is_counted) gpu.in_steps_ns += overlap_ns(kernels, step.start_ns, step.end_ns);
  std::sort(changes.begin(), changes.end());
  double level = 0;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    level += changes[i].second;
    gpu.weighted_sm_ns +=
        std::clamp(level, 0.0, 1.0) * static_cast<double>(changes[i + 1].first - changes[i].first);
  }
}

void StepAggregator::gpus(const Timeline& t, const exporter::Prescan& prescan,
                          const std::vector<StepRow>& steps, Interval span) {
  for (const GpuEvent& g : t.gpu) gpus_[d_.gpu[g.key].device].summary.device = d_.gpu[g.key].device;
  for (auto& [number, gpu] : gpus_) {
    one_gpu(t, steps, span, gpu);
    const auto found = prescan.devices.find(number);
    if (found == prescan.devices.end()) continue;
    gpu.summary.name = prescan.names.text(found->second.name);
    gpu.summary.memory_bytes = found->second.total_memory_bytes;
    gpu.summary.compute_major = found->second.compute_major;
    gpu.summary.compute_minor = found->second.compute_minor;
    gpu.summary.sm_count = found->second.sm_count;
  }
}

void StepAggregator::add(const Timeline& t, const exporter::Prescan& prescan) {
  std::vector<StepRow> steps = step_rows(t);
  if (all_.source.empty() && !steps.empty())
    all_.source = name_of(static_cast<exporter::StepOrigin>(t.steps[0].source));
  if (steps.empty()) {
    if (t.first_ns > t.last_ns) return;
    steps.push_back(synthetic_step(t));
  } else {
    keep(t, steps);
  }
  break_down(t, steps);
  count(t, steps);
  const Interval span = counted_span(steps);
  gpus(t, prescan, steps, span);
  memory(t, steps);
  all_.span_ns += span.end_ns - span.start_ns;
  for (StepRow& step : steps)
    for (const auto& [reason, loss] : prescan.losses)
      if (loss.in_window != 0 && loss.first_ns < step.end_ns && loss.last_ns >= step.start_ns)
        step.lost_records += loss.in_window;
  all_.steps.insert(all_.steps.end(), steps.begin(), steps.end());
}

Steps StepAggregator::take() {
  const auto made_up = [](const StepRow& step) { return step.is_synthetic; };
  all_.is_synthetic =
      !all_.steps.empty() && std::all_of(all_.steps.begin(), all_.steps.end(), made_up);
  // Where there are steps, a window without any is not one.
  if (!all_.is_synthetic) std::erase_if(all_.steps, made_up);
  DurationCollector lengths;
  for (const StepRow& step : all_.steps) {
    if (step.warm_up) ++all_.warm_up;
    if (!step.is_counted) continue;
    ++all_.counted;
    lengths.add(step.length_ns());
    all_.counted_ns += step.length_ns();
    for (std::size_t c = 0; c < kCategories; ++c)
      all_.mean_ns[c] += static_cast<double>(step.time[c]);
  }
  for (double& mean : all_.mean_ns)
    mean /= static_cast<double>(std::max<std::size_t>(all_.counted, 1));
  all_.length = lengths.stats();
  for (auto& [number, gpu] : gpus_) {
    GpuSummary& s = gpu.summary;
    const auto span = static_cast<double>(std::max<std::uint64_t>(all_.span_ns, 1));
    const auto kernel = static_cast<double>(std::max<std::uint64_t>(s.kernel_ns, 1));
    s.utilisation = static_cast<double>(s.busy_ns) / span;
    s.utilisation_in_steps = static_cast<double>(gpu.in_steps_ns) /
                             static_cast<double>(std::max<std::uint64_t>(all_.counted_ns, 1));
    s.sm_efficiency = gpu.weighted_sm_ns / span;
    s.occupancy_percent = gpu.occupancy_ns / kernel;
    if (gpu.attributed_ns != 0)
      s.tensor_core_share =
          static_cast<double>(gpu.tensor_ns) / static_cast<double>(gpu.attributed_ns);
    all_.gpus.push_back(s);
  }
  return std::move(all_);
}

}  // namespace gpuprof::report
