// SPDX-License-Identifier: Apache-2.0
//
// Kernels, copies, sets and graphs of a timeline.
//
// Context:  cli
#include "analysis/export/resolve/occupancy.hpp"
#include "analysis/report/timeline/name_heuristics.hpp"
#include "analysis/report/timeline/timeline_builder.hpp"
#include "recording/model/imported_values.hpp"

namespace gpuprof::report {
namespace {

constexpr std::uint8_t kPageableMemory = 1;  // CUpti_ActivityMemoryKind

}  // namespace

template <typename E>
void TimelineBuilder::add_gpu(const exporter::ResolvedGpuEvent<E>& g, Index key,
                              std::uint64_t bytes) {
  // Limited to steps, it counts where it was launched: link_events.cpp leaves out what was not.
  extend_bounds(g.event.start_ns, g.event.end_ns);
  GpuEvent& e = timeline_.gpu.emplace_back();
  e.start_ns = g.event.start_ns;
  e.end_ns = std::max(g.event.start_ns, g.event.end_ns);
  e.owner_id = g.owner;
  e.bytes = bytes;
  e.key = key;
  e.correlation = g.has_launch ? g.event.correlation : 0;
  e.stream = g.event.stream;
}

void TimelineBuilder::on(const exporter::ResolvedGpuEvent<model::Kernel>& k) {
  if (!try_add_event()) return;
  std::vector<CachedKernel>& known = kernels_[k.event.name];
  const auto same = [&](const CachedKernel& o) {
    return o.like.grid == k.event.grid && o.like.block == k.event.block &&
           o.like.registers == k.event.registers &&
           o.like.static_shared_bytes == k.event.static_shared_bytes &&
           o.like.dynamic_shared_bytes == k.event.dynamic_shared_bytes &&
           o.like.device == k.device &&
           (o.like.channel == model::kChannelOfCollective) ==
               (k.event.channel == model::kChannelOfCollective);
  };
  auto at = std::find_if(known.begin(), known.end(), same);
  if (at == known.end()) {
    GpuKey made;
    made.name = dictionary_.texts.id(k.name);
    made.device = k.device;
    made.grid = k.event.grid;
    made.block = k.event.block;
    made.registers = k.event.registers;
    made.shared_bytes = k.event.static_shared_bytes + k.event.dynamic_shared_bytes;
    made.tensor_core = uses_tensor_cores(k.name);
    made.nccl = k.event.channel == model::kChannelOfCollective || is_collective_kernel(k.name);
    const auto& devices = shown_.prescan().devices;
    if (const auto device = devices.find(k.device); device != devices.end()) {
      const exporter::Occupancy o = exporter::occupancy(device->second, k.event);
      made.blocks_per_sm = o.blocks_per_sm;
      made.occupancy_percent = o.percent;
    }
    CachedKernel one{k.event, dictionary_.gpu_key(made)};
    one.like.device = k.device;
    at = known.insert(known.end(), one);
  }
  add_gpu(k, at->key, 0);
}

void TimelineBuilder::on(const exporter::ResolvedGpuEvent<model::MemCopy>& c) {
  if (!try_add_event()) return;
  const std::uint32_t kinds = std::uint32_t{c.event.copy_kind} << 24 |
                              std::uint32_t{c.event.src_kind} << 18 |
                              std::uint32_t{c.event.dst_kind} << 12 | (c.device & 0xfff);
  const auto [at, fresh] = copies_.emplace(kinds, 0);
  if (fresh) {
    GpuKey made;
    made.name = dictionary_.texts.id(c.name);
    made.kind = GpuKind::kCopy;
    made.device = c.device;
    made.copy_by_cpu = model::is_on_host(c.event);
    made.pageable = c.event.src_kind == kPageableMemory || c.event.dst_kind == kPageableMemory;
    at->second = dictionary_.gpu_key(made);
  }
  add_gpu(c, at->second, c.event.bytes);
}

void TimelineBuilder::on(const exporter::ResolvedGpuEvent<model::MemSet>& s) {
  if (!try_add_event()) return;
  GpuKey made;
  made.name = dictionary_.texts.id(s.name);
  made.kind = GpuKind::kSet;
  made.device = s.device;
  add_gpu(s, dictionary_.gpu_key(made), s.event.bytes);
}

void TimelineBuilder::on(const exporter::ResolvedGpuEvent<model::GraphExec>& g) {
  if (!try_add_event()) return;
  GpuKey made;
  made.name = dictionary_.texts.id(g.name);
  made.kind = GpuKind::kGraph;
  made.device = g.device;
  add_gpu(g, dictionary_.gpu_key(made), 0);
}

}  // namespace gpuprof::report
