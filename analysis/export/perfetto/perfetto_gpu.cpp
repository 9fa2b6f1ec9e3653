// SPDX-License-Identifier: Apache-2.0
//
// What ran on devices, and the host's waits for it.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include "analysis/export/perfetto/perfetto_events.hpp"
#include "analysis/export/resolve/occupancy.hpp"

namespace gpuprof::exporter {

template <typename E>
void PerfettoEvents::begin_gpu(std::string_view category, const ShownGpu<E>& s) {
  PerfettoBody& body = begin(category, s.name);
  body.number("correlation", s.e.correlation).number("context", s.e.context);
  if (s.owner != 0) body.number("operator", s.owner);
  if (s.e.graph != 0) body.number("graph id", s.e.graph);
  if constexpr (requires { s.e.graph_node; })
    if (s.e.graph_node != 0) body.number("graph node id", s.e.graph_node);
  if (s.first) body.flow(launch_flow(s.e.correlation));
}

template <typename E>
void PerfettoEvents::end_gpu(const ShownGpu<E>& s) {
  const PerfettoTracks::Key key{Row::kStream, s.device, std::int64_t{s.e.stream}};
  tracks_.slice(key, s.e.start_ns, s.e.end_ns, body_.bytes(), true);
  in_flight_[s.device].add(s.e.start_ns, s.e.end_ns, teller(s.device));
}

WorkInFlight::Tell PerfettoEvents::teller(std::uint32_t device) {
  return [this, device](std::uint64_t ns, std::int64_t running) {
    packets_.counter(ns, tracks_.uuid({Row::kInFlight, device}), running);
  };
}

void PerfettoEvents::on(const ShownGpu<model::Kernel>& s) {
  const model::Kernel& e = s.e;
  begin_gpu("kernel", s);
  body_.text("grid", fmt::format("[{},{},{}]", e.grid[0], e.grid[1], e.grid[2]));
  body_.text("block", fmt::format("[{},{},{}]", e.block[0], e.block[1], e.block[2]));
  body_.number("registers per thread", e.registers);
  body_.number("shared memory", std::uint64_t{e.static_shared_bytes} + e.dynamic_shared_bytes);
  const auto device = survey_.devices.find(s.device);
  // Unknown limits: no figure, rather than one that looks measured.
  if (device != survey_.devices.end() && device->second.sm_count != 0) {
    const Occupancy figures = occupancy(device->second, e);
    body_.real("blocks per SM", figures.blocks_per_sm);
    body_.number("occupancy %", figures.percent);
  }
  end_gpu(s);
}

void PerfettoEvents::bytes(std::uint64_t bytes, std::uint64_t ns) {
  body_.number("bytes", bytes);
  if (ns != 0) body_.real("GB/s", static_cast<double>(bytes) / static_cast<double>(ns));
}

void PerfettoEvents::on(const ShownGpu<model::MemCopy>& s) {
  begin_gpu("gpu_memcpy", s);
  bytes(s.e.bytes, s.e.end_ns - s.e.start_ns);
  end_gpu(s);
}

void PerfettoEvents::on(const ShownGpu<model::MemSet>& s) {
  begin_gpu("gpu_memset", s);
  bytes(s.e.bytes, s.e.end_ns - s.e.start_ns);
  end_gpu(s);
}

void PerfettoEvents::on(const ShownGpu<model::GraphExec>& s) {
  begin_gpu("cuda_graph", s);
  end_gpu(s);
}

void PerfettoEvents::on(const ShownSync& s) {
  PerfettoBody& body = begin("cuda_sync", s.name);
  body.number("correlation", s.e.correlation);
  if (s.owner != 0) body.number("operator", s.owner);
  const std::uint32_t device = s.device == model::kNoObject ? 0 : s.device;
  tracks_.slice({Row::kWaits, device, sync_row(s.e)}, s.e.start_ns, s.e.end_ns, body.bytes(), true);
}

}  // namespace gpuprof::exporter
