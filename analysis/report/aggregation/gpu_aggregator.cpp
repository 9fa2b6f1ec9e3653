// SPDX-License-Identifier: Apache-2.0
//
// Tables of GPU work.
//
// Context:  cli
#include "analysis/report/aggregation/gpu_aggregator.hpp"

#include <algorithm>

#include "analysis/report/aggregation/launch_gaps.hpp"
#include "analysis/report/timeline/self_time.hpp"

namespace gpuprof::report {
namespace {

using exporter::OpKind;

bool is_collective(OpKind op) {
  return op == OpKind::kKnownCollective || op == OpKind::kOtherCollective;
}

/// Rows of a map, longest first.
template <typename Row, typename Fill>
std::vector<Row> sorted_rows(KeyedRows<Row>& map, const Fill& fill) {
  std::vector<Row> rows;
  for (auto& entry : map.entries()) {
    entry.row.time = entry.time.stats();
    fill(entry.key, entry.row);
    rows.push_back(std::move(entry.row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.time.total_ns > b.time.total_ns; });
  return rows;
}

}  // namespace

void GpuAggregator::kernels(const Timeline& t) {
  for (std::size_t i = 0; i < t.gpu.size(); ++i) {
    const GpuEvent& g = t.gpu[i];
    const GpuKey& key = d_.gpu[g.key];
    if (key.kind == GpuKind::kCopy || key.kind == GpuKind::kSet) continue;
    auto& entry = kernels_.at({g.key, name_of(t, g.owner), t.gpu_lines[i], 0, 0});
    entry.time.add(g.length_ns());
    const bool warm_up = g.step < t.warm_up;
    if (warm_up) {
      entry.row.warm_up_ns += g.length_ns();
      ++entry.row.warm_up_count;
    }
    const bool talks =
        key.nccl || (g.owner != kNoIndex && is_collective(d_.host[t.host[g.owner].key].op));
    entry.row.communication = entry.row.communication || talks;
    auto& named = kernel_names_.at({key.name, 0, 0, 0, 0});
    named.time.add(g.length_ns());
    named.row.tensor_core = key.tensor_core;
    named.row.communication = named.row.communication || talks;
    named.row.occupancy_percent += key.occupancy_percent * static_cast<double>(g.length_ns());
    named.row.blocks_per_sm += key.blocks_per_sm * static_cast<double>(g.length_ns());
    all_.kernel_ns += g.length_ns();
    if (talks) all_.communication_ns += g.length_ns();
    if (key.tensor_core) all_.tensor_core_ns += g.length_ns();
    if (key.kind != GpuKind::kKernel || warm_up) continue;
    ++all_.launches;
    if (g.length_ns() < kTinyKernelNs) ++all_.tiny_kernels;
  }
}

/// Copies and sets; which of their calls waited until they were done.
void GpuAggregator::copies(const Timeline& t) {
  std::vector<Index> blocking;
  for (std::size_t i = 0; i < t.gpu.size(); ++i) {
    const GpuEvent& g = t.gpu[i];
    const GpuKey& key = d_.gpu[g.key];
    if (key.kind != GpuKind::kCopy && key.kind != GpuKind::kSet) continue;
    auto& entry = copies_.at({g.key, name_of(t, g.owner), t.gpu_lines[i], 0, 0});
    entry.time.add(g.length_ns());
    entry.row.bytes += g.bytes;
    if (g.bytes != 0) entry.row.known_ns += g.length_ns();
    (key.kind == GpuKind::kCopy ? all_.copy_ns : all_.set_ns) += g.length_ns();
    if (g.launch == kNoIndex) continue;
    const HostEvent& call = t.host[g.launch];
    entry.row.host_ns += call.length_ns();
    if (call.end_ns < g.end_ns) continue;
    ++entry.row.blocking_calls;
    entry.row.blocking_ns += call.length_ns();
    blocking.push_back(g.launch);
  }
  std::sort(blocking.begin(), blocking.end());
  calls(t, blocking);
}

void GpuAggregator::calls(const Timeline& t, const std::vector<Index>& blocking) {
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    const HostKey& key = d_.host[e.key];
    if (key.kind != OperatorKind::kApiCall) continue;
    auto& entry = calls_.at({key.name, key.driver, 0, 0, 0});
    entry.time.add(e.length_ns());
    entry.row.failed += e.failed ? 1 : 0;
    entry.row.waits = key.waits;
    all_.call_ns += e.length_ns();
    if (!key.waits && !std::binary_search(blocking.begin(), blocking.end(), i)) continue;
    const bool within =
        e.parent != kNoIndex && d_.host[t.host[e.parent].key].kind == OperatorKind::kApiCall;
    if (within) continue;  // the call around it waits as long
    auto& wait = waits_.at({key.name, name_of(t, e.parent), name_of(t, t.outer[i]), t.lines[i],
                            e.step != kNoIndex ? 1u : 0u});
    wait.time.add(e.length_ns());
    all_.wait_ns += e.length_ns();
    if (e.step == kNoIndex || wait.row.last_step == e.step) continue;
    wait.row.last_step = e.step;
    ++wait.row.row.steps;
  }
  for (auto& entry : waits_.entries()) entry.row.last_step = kNoIndex;
}

void GpuAggregator::ranges(const Timeline& t) {
  std::vector<std::int64_t> children(t.host.size(), 0);
  std::vector<std::uint64_t> until(t.host.size(), 0);
  for (const HostEvent& e : t.host) {
    Index parent = e.parent;
    if (d_.host[e.key].kind == OperatorKind::kPythonCall) continue;
    while (parent != kNoIndex && d_.host[t.host[parent].key].kind == OperatorKind::kPythonCall)
      parent = t.host[parent].parent;
    if (parent != kNoIndex) children[parent] += newly_covered_ns(e, t.host[parent], until[parent]);
  }
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    const HostKey& key = d_.host[e.key];
    if (key.kind != OperatorKind::kAnnotation || key.op == OpKind::kProfilerStep) continue;
    auto& entry = ranges_.at({key.name, key.domain, 0, 0, 0});
    entry.time.add(e.length_ns());
    entry.row.self_cpu_ns += static_cast<std::int64_t>(e.length_ns()) - children[i];
    entry.row.device_ns += static_cast<std::int64_t>(t.device_ns[i]);
  }
  for (const RangeSpan& range : t.ranges)
    ranges_.at({range.name, range.domain, 0, 0, 0}).time.add(range.end_ns - range.start_ns);
}

void GpuAggregator::collectives(const Timeline& t) {
  constexpr std::uint32_t kByKernel = 1;  // a row apart from ranges of the same name
  std::unordered_map<Index, const CollectiveArgs*> uses;
  for (const CollectiveArgs& use : t.collectives)
    if (const Index i = t.host_by_id.get(use.id); i != kNoIndex) uses[i] = &use;
  const auto entry_of = [&](Index i) -> auto& {
    const auto found = uses.find(i);
    const CollectiveArgs use = found == uses.end() ? CollectiveArgs{} : *found->second;
    return collectives_.at({name_of(t, i), use.group, use.dtype, 0, 0});
  };
  for (Index i = 0; i < t.host.size(); ++i) {
    if (!is_collective(d_.host[t.host[i].key].op)) continue;
    auto& entry = entry_of(i);
    entry.time.add(t.host[i].length_ns());
    const auto found = uses.find(i);
    if (found != uses.end()) entry.row.row.bytes += found->second->bytes;
  }
  for (const GpuEvent& g : t.gpu) {
    const GpuKey& key = d_.gpu[g.key];
    if (g.owner != kNoIndex && is_collective(d_.host[t.host[g.owner].key].op))
      entry_of(g.owner).row.device.add(g.length_ns());
    else if (key.nccl)
      collectives_.at({key.name, 0, 0, kByKernel, 0}).row.device.add(g.length_ns());
  }
}

void GpuAggregator::add(const Timeline& t) {
  kernels(t);
  copies(t);
  ranges(t);
  collectives(t);
  all_.launch_gap_ns += launch_gap_ns(t, d_);
}

GpuTables GpuAggregator::finish() {
  take_kernels();
  take_copies();
  take_collectives();
  take_waits();
  all_.calls = sorted_rows(calls_, [&](const auto& key, ApiRow& row) {
    row.name = d_.texts.text(key[0]);
    row.driver = key[1] != 0;
  });
  all_.ranges = sorted_rows(ranges_, [&](const auto& key, RangeRow& row) {
    row.name = d_.texts.text(key[0]);
    row.domain = d_.texts.text(key[1]);
  });
  return std::move(all_);
}

void GpuAggregator::take_kernels() {
  all_.kernels = sorted_rows(kernels_, [&](const auto& key, KernelRow& row) {
    const GpuKey& gpu = d_.gpu[key[0]];
    row.name = d_.texts.text(gpu.name);
    row.owner = d_.texts.text(key[1]);
    row.line = key[2];
    row.grid = gpu.grid;
    row.block = gpu.block;
    row.registers = gpu.registers;
    row.shared_bytes = gpu.shared_bytes;
    row.device = gpu.device;
    row.blocks_per_sm = gpu.blocks_per_sm;
    row.occupancy_percent = gpu.occupancy_percent;
    row.tensor_core = gpu.tensor_core;
  });
  all_.kernel_names = sorted_rows(kernel_names_, [&](const auto& key, KernelRow& row) {
    const auto total = static_cast<double>(std::max<std::uint64_t>(row.time.total_ns, 1));
    row.name = d_.texts.text(key[0]);
    row.occupancy_percent /= total;  // weighted with time, as blocks per multiprocessor
    row.blocks_per_sm /= total;
  });
}

void GpuAggregator::take_copies() {
  all_.copies = sorted_rows(copies_, [&](const auto& key, CopyRow& row) {
    const GpuKey& gpu = d_.gpu[key[0]];
    row.name = d_.texts.text(gpu.name);
    row.owner = d_.texts.text(key[1]);
    row.line = key[2];
    row.is_set = gpu.kind == GpuKind::kSet;
    row.pageable = gpu.pageable;
    if (row.known_ns != 0)
      row.gigabytes_per_s = static_cast<double>(row.bytes) / static_cast<double>(row.known_ns);
  });
}

void GpuAggregator::take_collectives() {
  for (auto& entry : collectives_.entries()) {
    CollectiveRow& row = all_.collectives.emplace_back(std::move(entry.row.row));
    row.name = d_.texts.text(entry.key[0]);
    row.group = d_.texts.text(entry.key[1]);
    row.dtype = d_.texts.text(entry.key[2]);
    row.host = entry.time.stats();
    row.device = entry.row.device.stats();
  }
  std::stable_sort(
      all_.collectives.begin(), all_.collectives.end(), [](const auto& a, const auto& b) {
        return a.device.total_ns + a.host.total_ns > b.device.total_ns + b.host.total_ns;
      });
}

void GpuAggregator::take_waits() {
  for (auto& entry : waits_.entries()) {
    GpuWaitRow& row = all_.waits.emplace_back(std::move(entry.row.row));
    row.call = d_.texts.text(entry.key[0]);
    row.owner = d_.texts.text(entry.key[1]);
    row.outer = d_.texts.text(entry.key[2]);
    row.line = entry.key[3];
    row.in_steps = entry.key[4] != 0;
    row.time = entry.time.stats();
  }
  std::stable_sort(all_.waits.begin(), all_.waits.end(),
                   [](const auto& a, const auto& b) { return a.time.total_ns > b.time.total_ns; });
}

}  // namespace gpuprof::report
