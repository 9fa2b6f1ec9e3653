// SPDX-License-Identifier: Apache-2.0
//
// Threads, modules and lines.
//
// Context:  cli
#include "analysis/report/aggregation/host_aggregator.hpp"

#include <algorithm>

namespace gpuprof::report {

void HostAggregator::threads(const Timeline& t, const exporter::Prescan& prescan) {
  for (const std::uint32_t tid : t.threads) threads_[tid].tid = tid;
  for (auto& [tid, row] : threads_) {
    if (const auto known = prescan.threads.find(tid); known != prescan.threads.end())
      if (!known->second.name.empty()) row.name = known->second.name;
    row.main = row.main || tid == prescan.main_tid();
  }
  for (const SampleTotals& s : t.samples) {
    ThreadRow& row = threads_[t.threads[s.thread]];
    row.samples += s.on_cpu_samples;
    row.off_cpu_samples += s.off_cpu_samples;
    row.cpu_ns += s.cpu_ns;
    row.blocked_ns += s.off_cpu_ns;
  }
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    if (t.outer[i] == i) {
      ThreadRow& row = threads_[t.threads[e.thread]];
      ++row.operators;
      row.operator_ns += e.length_ns();
    } else if (d_.host[e.key].kind == OperatorKind::kApiCall && !e.nested_call) {
      ThreadRow& row = threads_[t.threads[e.thread]];
      ++row.calls;
      row.call_ns += e.length_ns();
    }
  }
}

void HostAggregator::samples(const Timeline& t) {
  for (const SampleTotals& s : t.samples) {
    const FrameId line = d_.places.user_frame(s.stack);
    if (line == 0) continue;
    LineCosts& costs = lines_[line].costs;
    costs.samples += s.on_cpu_samples;
    costs.off_cpu_samples += s.off_cpu_samples;
    costs.cpu_ns += s.cpu_ns;
    costs.blocked_ns += s.off_cpu_ns;
    const auto& frames = d_.places.stacks[s.stack];
    const auto python = std::find_if(frames.begin(), frames.end(),
                                     [&](FrameId f) { return d_.places.frames[f].is_python; });
    if (python != frames.end() && *python == line) costs.self_samples += s.on_cpu_samples;
  }
}

template <typename Add>
void HostAggregator::both(const Timeline& t, Index host, FrameId line, const Add& add) {
  if (line != 0) add(lines_[line]);
  const Index outer = host == kNoIndex ? kNoIndex : t.outer[host];
  if (outer == kNoIndex) return;
  add(sites_[std::uint64_t{line} << 32 | d_.host[t.host[outer].key].name]);
}

void HostAggregator::operators(const Timeline& t) {
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    const HostKey& key = d_.host[e.key];
    if (t.outer[i] == i) {
      both(t, i, t.lines[i], [&](LineAggregate& line) {
        ++line.costs.operators;
        line.costs.operator_ns += e.length_ns();
        in_step(line, e.step);
      });
    } else if (key.waits) {
      both(t, i, t.lines[i], [&](LineAggregate& line) {
        ++line.costs.waits;
        line.costs.wait_ns += e.length_ns();
      });
    }
  }
  for (std::size_t i = 0; i < t.gpu.size(); ++i) {
    const GpuEvent& g = t.gpu[i];
    both(t, g.owner != kNoIndex ? g.owner : g.launch, t.gpu_lines[i], [&](LineAggregate& line) {
      ++line.costs.launches;
      line.costs.gpu_ns += g.length_ns();
    });
  }
  for (const AllocationEvent& a : t.allocations) {
    if (a.bytes <= 0 || a.owner == kNoIndex) continue;
    both(t, a.owner, t.lines[a.owner], [&](LineAggregate& line) {
      ++line.costs.allocations;
      line.costs.allocated_bytes += static_cast<std::uint64_t>(a.bytes);
    });
  }
  for (auto& [key, line] : lines_) line.last_step = kNoIndex;
  for (auto& [key, line] : sites_) line.last_step = kNoIndex;
}

void HostAggregator::modules(const Timeline& t) {
  modules_.resize(d_.modules.size());
  for (const ModuleCallSpan& use : t.modules) {
    if (use.module == kNoIndex) continue;
    ModuleRow& row = modules_[use.module];
    const std::uint64_t length = use.end_ns - use.start_ns;
    ++row.calls;
    row.host_ns += length;
    row.self_host_ns += length;
    const Index parent = d_.modules[use.module].parent;
    if (parent != kNoIndex) modules_[parent].self_host_ns -= length;
  }
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    if (e.module == kNoIndex) continue;
    const bool outermost = e.parent == kNoIndex || t.host[e.parent].module != e.module;
    if (outermost) ++modules_[e.module].operators;
  }
  for (const GpuEvent& g : t.gpu)
    if (g.owner != kNoIndex && t.host[g.owner].module != kNoIndex)
      modules_[t.host[g.owner].module].self_device_ns += g.length_ns();
}

void HostAggregator::add(const Timeline& t, const exporter::Prescan& prescan) {
  all_.sample_period_ns = prescan.sample_period_ns;
  threads(t, prescan);
  samples(t);
  operators(t);
  modules(t);
}

HostTables HostAggregator::take() {
  for (auto& [tid, row] : threads_) all_.threads.push_back(row);
  std::stable_sort(all_.threads.begin(), all_.threads.end(), [](const auto& a, const auto& b) {
    if (a.main != b.main) return a.main;
    return a.cpu_ns + a.operator_ns > b.cpu_ns + b.operator_ns;
  });
  for (auto& [frame, line] : lines_) all_.lines.push_back({frame, line.costs});
  std::sort(all_.lines.begin(), all_.lines.end(), [](const LineRow& a, const LineRow& b) {
    const auto cost = [](const LineRow& r) {
      return std::max(r.costs.cpu_ns, r.costs.operator_ns) + r.costs.gpu_ns + r.costs.wait_ns;
    };
    return cost(a) != cost(b) ? cost(a) > cost(b) : a.frame < b.frame;
  });
  for (auto& [key, line] : sites_)
    all_.sites.push_back(
        {static_cast<FrameId>(key >> 32), d_.texts.text(static_cast<StringRef>(key)), line.costs});
  std::sort(all_.sites.begin(), all_.sites.end(), [](const CallSiteRow& a, const CallSiteRow& b) {
    const auto cost = [](const CallSiteRow& r) { return r.costs.operator_ns + r.costs.gpu_ns; };
    if (cost(a) != cost(b)) return cost(a) > cost(b);
    return a.frame != b.frame ? a.frame < b.frame : a.name < b.name;
  });
  // Parents have lower numbers than what is in them.
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    // Calls further in may lie in none of this one's that were seen whole.
    if (modules_[i].self_host_ns > modules_[i].host_ns) modules_[i].self_host_ns = 0;
    modules_[i].path = d_.texts.text(d_.modules[i].path);
    modules_[i].name = d_.texts.text(d_.modules[i].name);
    modules_[i].depth = d_.modules[i].depth;
    const Index parent = d_.modules[i].parent;
    modules_[i].parent = parent == kNoIndex ? -1 : static_cast<std::int32_t>(parent);
    modules_[i].device_ns += modules_[i].self_device_ns;
  }
  for (std::size_t i = modules_.size(); i-- > 0;) {
    if (modules_[i].parent >= 0)
      modules_[static_cast<std::size_t>(modules_[i].parent)].device_ns += modules_[i].device_ns;
  }
  all_.modules = std::move(modules_);
  return std::move(all_);
}

}  // namespace gpuprof::report
