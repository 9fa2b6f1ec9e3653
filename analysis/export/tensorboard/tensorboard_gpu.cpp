// SPDX-License-Identifier: Apache-2.0
//
// GPU rows: kernels, copies, sets, synchronisations, whole graphs.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <iterator>

#include "analysis/export/labels/event_names.hpp"
#include "analysis/export/resolve/occupancy.hpp"
#include "analysis/export/tensorboard/tensorboard_sections.hpp"

namespace gpuprof::exporter {
namespace {

/// Kernel shapes remembered as text; programs use few.
constexpr std::size_t kMaxShapes = 20'000;

}  // namespace

/// One multiplication a word: looked up for each kernel, and nobody gains by collisions here.
std::size_t GpuEventWriter::ShapeHash::operator()(const Shape& shape) const {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  std::array<std::uint64_t, (sizeof shape + 7) / 8> words{};
  std::memcpy(words.data(), &shape, sizeof shape);
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) hash = (std::rotl(hash, 23) ^ word) * kOdd;
  return hash ^ (hash >> 32);
}

/// Everything up to the kind's own arguments; false if the event is not for this file.
template <typename E>
bool GpuEventWriter::begin(const E& e, std::string_view category, std::string_view name) {
  const Prescan& prescan = t_.prescan;
  if (!prescan.includes_gpu_event(e.correlation, e.start_ns)) return false;
  device_ = prescan.device_of(e.device, e.context);
  if (device_ >= kMaxDevicePids) {
    ++t_.prescan.count(OmissionReason::kUnsupportedDevice);
    return false;
  }
  BufferedWriter& json = t_.event(name.size() + 512);
  json.raw("{\"ph\":\"X\",\"cat\":\"").raw(category).raw("\",\"name\":\"").raw(name);
  t_.write_pid_tid(device_, e.stream);
  t_.interval(e.start_ns, e.end_ns);
  json.raw(",\"args\":{\"External id\":").number(t_.owner(e.range));
  json.raw(",\"device\":").number(device_).raw(",\"context\":").number(e.context);
  json.raw(",\"stream\":").number(e.stream).raw(",\"correlation\":").number(e.correlation);
  return true;
}

template <typename E>
void GpuEventWriter::end(const E& e) {
  BufferedWriter& json = t_.json;
  if (e.graph != 0) json.raw(",\"graph id\":").number(e.graph);
  if constexpr (requires { e.graph_node; })
    if (e.graph_node != 0) json.raw(",\"graph node id\":").number(e.graph_node);
  json.raw("}}");
  // One arrow a launch: viewers refuse a second end.
  if (!t_.prescan.launched.test(e.correlation) || flow_ends_.test_and_set(e.correlation)) return;
  t_.json.reserve(256);
  json.raw(",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":");
  json.number(e.correlation).raw(",\"pid\":");
  json.number(device_).raw(",\"tid\":").number(e.stream);
  t_.ts(e.start_ns).raw("}");
}

std::string_view GpuEventWriter::shape_text(const model::Kernel& k) {
  const Shape shape{device_,
                    k.grid,
                    k.block,
                    k.static_shared_bytes,
                    k.dynamic_shared_bytes,
                    k.local_per_thread_bytes,
                    k.shared_executed_bytes,
                    k.registers,
                    k.channel};
  if (const auto found = shapes_.find(shape); found != shapes_.end()) return found->second;
  if (shapes_.size() >= kMaxShapes) shapes_.clear();
  std::string text;
  fmt::format_to(std::back_inserter(text),
                 ",\"registers per thread\":{},\"shared memory\":{},\"grid\":[{},{},{}],"
                 "\"block\":[{},{},{}]",
                 k.registers, std::uint64_t{k.static_shared_bytes} + k.dynamic_shared_bytes,
                 k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1], k.block[2]);
  const auto found = t_.prescan.devices.find(device_);
  // Unknown limits: no figure, rather than one that looks measured.
  if (found != t_.prescan.devices.end() && found->second.sm_count != 0) {
    const Occupancy figures = occupancy(found->second, k);
    text += ",\"blocks per SM\":";
    append_number(text, figures.blocks_per_sm);
    text += ",\"warps per SM\":";
    append_number(text, figures.warps_per_sm);
    fmt::format_to(std::back_inserter(text), ",\"est. achieved occupancy %\":{}", figures.percent);
  }
  if (k.local_per_thread_bytes != 0)
    fmt::format_to(std::back_inserter(text), ",\"local memory per thread\":{}",
                   k.local_per_thread_bytes);
  return shapes_.emplace(shape, std::move(text)).first->second;
}

void GpuEventWriter::write(const model::Kernel& e) {
  if (!begin(e, "kernel", t_.prescan.names.symbol(e.name))) return;
  t_.json.raw(",\"queued\":0").raw(shape_text(e));
  end(e);
}

void GpuEventWriter::bandwidth(std::uint64_t bytes, std::uint64_t ns) {
  t_.json.raw(",\"bytes\":").number(bytes);
  if (ns == 0) return;
  scratch_.clear();
  append_number(scratch_, static_cast<double>(bytes) / static_cast<double>(ns));
  t_.json.raw(",\"memory bandwidth (GB/s)\":").raw(scratch_);
}

void GpuEventWriter::write(const model::MemCopy& e) {
  if (!begin(e, "gpu_memcpy", name_of(e))) return;
  bandwidth(e.bytes, e.end_ns - e.start_ns);
  if (e.dst_device != e.device && e.dst_device != model::kNoObject) {
    t_.json.raw(",\"fromDevice\":").number(e.device);
    t_.json.raw(",\"toDevice\":").number(e.dst_device);
  }
  end(e);
}

void GpuEventWriter::write(const model::MemSet& e) {
  if (!begin(e, "gpu_memset", name_of(e))) return;
  bandwidth(e.bytes, e.end_ns - e.start_ns);
  end(e);
}

void GpuEventWriter::write(const model::GraphExec& e) {
  if (!begin(e, "kernel", name_of(e))) return;
  end(e);
}

void GpuEventWriter::write(const model::Sync& e) {
  const Prescan& prescan = t_.prescan;
  if (!prescan.starts_in_window(e.start_ns)) return;
  const std::uint32_t device = prescan.device_of(model::kNoObject, e.context);
  const std::string_view kind = name_of(e);
  const std::int64_t stream = e.stream != model::kNoObject ? std::int64_t{e.stream} : -1;
  BufferedWriter& json = t_.event(256);
  json.raw("{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"").raw(kind).raw("\",\"pid\":");
  json.number(device < kMaxDevicePids ? device : 0).raw(",\"tid\":").signed_number(sync_track(e));
  t_.interval(e.start_ns, e.end_ns);
  json.raw(",\"args\":{\"cuda_sync_kind\":\"").raw(kind).raw("\",\"External id\":");
  json.number(t_.owner(e.range)).raw(",\"stream\":").signed_number(stream);
  json.raw(",\"correlation\":").number(e.correlation).raw(",\"device\":");
  json.number(device < kMaxDevicePids ? device : 0).raw(",\"context\":").number(e.context);
  // What was waited for; -1: not known, as the call that recorded the event and its stream always
  // are. HTA's critical path joins the two and gives up where a stream stands beside no call.
  const bool of_event = e.event != 0 && e.event != model::kNoObject;
  json.raw(",\"wait_on_stream\":-1,\"wait_on_cuda_event_record_corr_id\":-1");
  json.raw(",\"wait_on_cuda_event_id\":");
  json.signed_number(of_event ? std::int64_t{e.event} : -1);
  json.raw("}}");
}

}  // namespace gpuprof::exporter
