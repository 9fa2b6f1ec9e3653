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
void Gatherer::add_gpu(const exporter::ShownGpu<E>& g, Index key, std::uint64_t bytes) {
  // Limited to steps, it counts where it was launched: link_events.cpp leaves out what was not.
  saw(g.e.start_ns, g.e.end_ns);
  GpuEvent& e = t_.gpu.emplace_back();
  e.start_ns = g.e.start_ns;
  e.end_ns = std::max(g.e.start_ns, g.e.end_ns);
  e.owner_id = g.owner;
  e.bytes = bytes;
  e.key = key;
  e.correlation = g.launched ? g.e.correlation : 0;
  e.stream = g.e.stream;
}

void Gatherer::on(const exporter::ShownGpu<model::Kernel>& k) {
  if (!room()) return;
  std::vector<KernelOf>& known = kernels_[k.e.name];
  const auto same = [&](const KernelOf& o) {
    return o.like.grid == k.e.grid && o.like.block == k.e.block &&
           o.like.registers == k.e.registers &&
           o.like.static_shared_bytes == k.e.static_shared_bytes &&
           o.like.dynamic_shared_bytes == k.e.dynamic_shared_bytes && o.like.device == k.device &&
           (o.like.channel == model::kChannelOfCollective) ==
               (k.e.channel == model::kChannelOfCollective);
  };
  auto at = std::find_if(known.begin(), known.end(), same);
  if (at == known.end()) {
    GpuKey made;
    made.name = d_.texts.id(k.name);
    made.device = k.device;
    made.grid = k.e.grid;
    made.block = k.e.block;
    made.registers = k.e.registers;
    made.shared_bytes = k.e.static_shared_bytes + k.e.dynamic_shared_bytes;
    made.tensor_core = uses_tensor_cores(k.name);
    made.nccl = k.e.channel == model::kChannelOfCollective || is_collective_kernel(k.name);
    const auto& devices = shown_.survey().devices;
    if (const auto device = devices.find(k.device); device != devices.end()) {
      const exporter::Occupancy o = exporter::occupancy(device->second, k.e);
      made.blocks_per_sm = o.blocks_per_sm;
      made.occupancy_percent = o.percent;
    }
    KernelOf one{k.e, d_.gpu_key(made)};
    one.like.device = k.device;
    at = known.insert(known.end(), one);
  }
  add_gpu(k, at->key, 0);
}

void Gatherer::on(const exporter::ShownGpu<model::MemCopy>& c) {
  if (!room()) return;
  const std::uint32_t kinds = std::uint32_t{c.e.copy_kind} << 24 |
                              std::uint32_t{c.e.src_kind} << 18 |
                              std::uint32_t{c.e.dst_kind} << 12 | (c.device & 0xfff);
  const auto [at, fresh] = copies_.emplace(kinds, 0);
  if (fresh) {
    GpuKey made;
    made.name = d_.texts.id(c.name);
    made.kind = GpuKind::kCopy;
    made.device = c.device;
    made.on_host = model::is_on_host(c.e);
    made.pageable = c.e.src_kind == kPageableMemory || c.e.dst_kind == kPageableMemory;
    at->second = d_.gpu_key(made);
  }
  add_gpu(c, at->second, c.e.bytes);
}

void Gatherer::on(const exporter::ShownGpu<model::MemSet>& s) {
  if (!room()) return;
  GpuKey made;
  made.name = d_.texts.id(s.name);
  made.kind = GpuKind::kSet;
  made.device = s.device;
  add_gpu(s, d_.gpu_key(made), s.e.bytes);
}

void Gatherer::on(const exporter::ShownGpu<model::GraphExec>& g) {
  if (!room()) return;
  GpuKey made;
  made.name = d_.texts.id(g.name);
  made.kind = GpuKind::kGraph;
  made.device = g.device;
  add_gpu(g, d_.gpu_key(made), 0);
}

}  // namespace gpuprof::report
