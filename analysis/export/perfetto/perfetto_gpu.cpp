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
void PerfettoEvents::begin_gpu(std::string_view category, const ResolvedGpuEvent<E>& s) {
  TrackEventBuilder& body = begin(category, s.name);
  body.number("correlation", s.event.correlation).number("context", s.event.context);
  if (s.owner != 0) body.number("operator", s.owner);
  if (s.event.graph != 0) body.number("graph id", s.event.graph);
  if constexpr (requires { s.event.graph_node; })
    if (s.event.graph_node != 0) body.number("graph node id", s.event.graph_node);
  if (s.first_of_launch) body.flow(launch_flow(s.event.correlation));
}

template <typename E>
void PerfettoEvents::end_gpu(const ResolvedGpuEvent<E>& s) {
  const PerfettoTracks::TrackKey key{Row::kStream, s.device, std::int64_t{s.event.stream}};
  tracks_.slice(key, s.event.start_ns, s.event.end_ns, body_.bytes(), true);
  in_flight_[s.device].add(s.event.start_ns, s.event.end_ns, counter_callback(s.device));
}

InFlightCounter::OnValue PerfettoEvents::counter_callback(std::uint32_t device) {
  return [this, device](std::uint64_t ns, std::int64_t running) {
    packets_.counter(ns, tracks_.uuid({Row::kInFlight, device}), running);
  };
}

void PerfettoEvents::on(const ResolvedGpuEvent<model::Kernel>& s) {
  const model::Kernel& e = s.event;
  begin_gpu("kernel", s);
  body_.text("grid", fmt::format("[{},{},{}]", e.grid[0], e.grid[1], e.grid[2]));
  body_.text("block", fmt::format("[{},{},{}]", e.block[0], e.block[1], e.block[2]));
  body_.number("registers per thread", e.registers);
  body_.number("shared memory", std::uint64_t{e.static_shared_bytes} + e.dynamic_shared_bytes);
  const auto device = prescan_.devices.find(s.device);
  // Unknown limits: no figure, rather than one that looks measured.
  if (device != prescan_.devices.end() && device->second.sm_count != 0) {
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

void PerfettoEvents::on(const ResolvedGpuEvent<model::MemCopy>& s) {
  begin_gpu("gpu_memcpy", s);
  bytes(s.event.bytes, s.event.end_ns - s.event.start_ns);
  end_gpu(s);
}

void PerfettoEvents::on(const ResolvedGpuEvent<model::MemSet>& s) {
  begin_gpu("gpu_memset", s);
  bytes(s.event.bytes, s.event.end_ns - s.event.start_ns);
  end_gpu(s);
}

void PerfettoEvents::on(const ResolvedGpuEvent<model::GraphExec>& s) {
  begin_gpu("cuda_graph", s);
  end_gpu(s);
}

void PerfettoEvents::on(const ResolvedSync& s) {
  TrackEventBuilder& body = begin("cuda_sync", s.name);
  body.number("correlation", s.event.correlation);
  if (s.owner != 0) body.number("operator", s.owner);
  const std::uint32_t device = s.device == model::kNoObject ? 0 : s.device;
  tracks_.slice({Row::kWaits, device, sync_track(s.event)}, s.event.start_ns, s.event.end_ns,
                body.bytes(), true);
}

}  // namespace gpuprof::exporter
