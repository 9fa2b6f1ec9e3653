// SPDX-License-Identifier: Apache-2.0
//
// The plane of one GPU: a row for each stream, the steps as the host saw them, and counters.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/labels/event_names.hpp"
#include "analysis/export/resolve/occupancy.hpp"
#include "analysis/export/xplane/xplane_builders.hpp"
#include "support/text/text.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::int64_t kStepLine = 0x40000000;
/// Kernel shapes remembered; programs use few.
constexpr std::size_t kMaxDetails = 20'000;

/// Kinds of work in a row's name; the viewers draw rows with Compute first.
constexpr std::array<std::string_view, 8> kKinds = {"Compute",   "MemcpyH2D", "MemcpyD2H",
                                                    "MemcpyD2D", "MemcpyP2P", "MemcpyOther",
                                                    "Memset",    "CudaGraph"};
enum Kind : std::uint32_t { kCompute, kH2D, kD2H, kD2D, kP2P, kOther, kMemset, kGraph };

struct CopyName {
  Kind kind;
  std::string_view name;
};
/// By CUPTI's number of the kind of copy. The tables know three directions by these names.
CopyName copy_name(std::uint32_t kind) {
  constexpr std::array<CopyName, 11> kNames = {{{kOther, "MemcpyOther"},
                                                {kH2D, "MemcpyHToD"},
                                                {kD2H, "MemcpyDToH"},
                                                {kH2D, "MemcpyHToD"},
                                                {kD2H, "MemcpyDToH"},
                                                {kD2D, "MemcpyDToD"},
                                                {kD2D, "MemcpyDToD"},
                                                {kD2D, "MemcpyDToD"},
                                                {kD2D, "MemcpyDToD"},
                                                {kOther, "MemcpyHToH"},
                                                {kP2P, "MemcpyDToD"}}};
  return kind < kNames.size() ? kNames[kind] : kNames[0];
}

std::string memory_word(std::uint32_t kind) {
  std::string word(memory_kind(kind));
  for (char& c : word) c = c == ' ' ? '_' : static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return word;
}

/// Whether a kernel computes in 16 bits, as far as its name says so: the step's time is split by
/// that. What is named fp16 or half the readers know themselves.
bool is_half_by_name(std::string_view kernel) {
  for (const std::string_view word : {"bf16", "BFloat16", "bfloat16", "f16f16", "_f16", "h16816",
                                      "h1688", "h884", "nvjet_h", "nvjet_t"})
    if (kernel.find(word) != std::string_view::npos) return true;
  return false;
}

}  // namespace

XplaneGpuBuilder::XplaneGpuBuilder(XplaneContext& file, std::uint32_t device, std::uint32_t place)
    : file_(file),
      prescan_(file.shown.prescan()),
      device_(device),
      plane_index_(place),
      plane_(place, fmt::format("/device:GPU:{}", place)),
      correlation_(plane_.stat("correlation_id")),
      kernel_details_(plane_.stat("kernel_details")),
      graph_(plane_.stat("cuda_graph_id")),
      graph_node_(plane_.stat("cuda_graph_node_id")) {
  write_device_stats();
}

void XplaneGpuBuilder::write_device_stats() {
  plane_.add_stat("device_vendor", "Nvidia");
  if (device_ != model::kNoObject) plane_.add_stat("cuda_device", std::uint64_t{device_});
  const auto known = prescan_.devices.find(device_);
  if (known == prescan_.devices.end()) return;
  const model::Device& device = known->second;
  plane_.add_stat("gpu_device_name", prescan_.names.text(device.name));
  constexpr std::uint64_t kHzPerKhz = 1000, kTransfersPerClock = 2, kBitsPerByte = 8;
  plane_.add_stat("clock_rate", std::uint64_t{device.clock_khz});
  plane_.add_stat("core_count", std::uint64_t{device.sm_count});
  plane_.add_stat("memory_bandwidth", kTransfersPerClock * device.memory_clock_khz * kHzPerKhz *
                                          device.memory_bus_bits / kBitsPerByte);
  plane_.add_stat("memory_size", device.total_memory_bytes);
  plane_.add_stat("compute_cap_major", std::uint64_t{device.compute_major});
  plane_.add_stat("compute_cap_minor", std::uint64_t{device.compute_minor});
}

XplaneGpuBuilder::StreamLine& XplaneGpuBuilder::row(std::uint32_t context, std::uint32_t stream) {
  if (last_row_ != nullptr && last_row_->context == context && last_row_->stream == stream)
    return *last_row_;
  StreamLine& row =
      rows_.try_emplace({context, stream}, StreamLine{nullptr, context, stream, 0}).first->second;
  if (row.line == nullptr) row.line = &plane_.line(0, 0, "");
  return *(last_row_ = &row);
}

/// What all kinds have, after the stats of the kind.
template <typename E>
void XplaneGpuBuilder::add(const E& e, model::RangeId owner, XplaneId name, std::uint32_t kind) {
  if (e.correlation != 0) stats_.number(correlation_, e.correlation);
  if (e.graph != 0) stats_.number(graph_, e.graph);
  if constexpr (requires { e.graph_node; })
    if (e.graph_node != 0) stats_.number(graph_node_, e.graph_node);
  StreamLine& to = row(e.context, e.stream);
  to.kinds |= 1u << kind;
  // The tables leave out what took no time.
  XplaneEvent& event =
      plane_.add(*to.line, e.start_ns, std::max(e.end_ns, e.start_ns + 1), name, stats_.bytes());
  event.kind = XplaneEvent::Kind::kHasOp;
  event.owner = owner;
  event.correlation = e.correlation;
  file_.planes.emplace_back(e.correlation, plane_index_);
}

XplaneId XplaneGpuBuilder::details(const model::Kernel& e) {
  const Shape shape{e.grid[0],
                    e.grid[1],
                    e.grid[2],
                    e.block[0],
                    e.block[1],
                    e.block[2],
                    e.registers,
                    e.static_shared_bytes,
                    e.dynamic_shared_bytes,
                    e.shared_executed_bytes};
  if (last_details_ != 0 && shape == last_shape_) return last_details_;
  last_shape_ = shape;
  if (const auto found = details_.find(shape); found != details_.end())
    return last_details_ = found->second;
  if (details_.size() >= kMaxDetails) details_.clear();
  std::string text =
      fmt::format("regs:{} static_shared:{} dynamic_shared:{} grid:{},{},{} block:{},{},{}",
                  e.registers, e.static_shared_bytes, e.dynamic_shared_bytes, e.grid[0], e.grid[1],
                  e.grid[2], e.block[0], e.block[1], e.block[2]);
  const auto known = prescan_.devices.find(device_);
  if (known != prescan_.devices.end() && known->second.sm_count != 0)
    text += fmt::format(" occ_pct:{}", occupancy(known->second, e).percent);
  last_details_ = plane_.stat(text);
  details_.emplace(shape, last_details_);
  return last_details_;
}

void XplaneGpuBuilder::add(const ResolvedGpuEvent<model::Kernel>& k) {
  if (!file_.try_add_event()) return;
  const XplaneId name = kernel_ids_.get(k.event.name, [&] { return plane_.event(k.name); });
  // 1: not in 16 bits; else the text that says so.
  const XplaneId half = half_precision_ids_.get(k.event.name, [&]() -> XplaneId {
    return is_half_by_name(k.name) ? plane_.stat("half (by the kernel's name)") : 1;
  });
  stats_.clear();
  stats_.ref(kernel_details_, details(k.event));
  if (half != 1) stats_.ref(plane_.stat("shape"), half);
  add(k.event, k.owner, name, kCompute);
}

void XplaneGpuBuilder::add(const ResolvedGpuEvent<model::MemCopy>& c) {
  if (!file_.try_add_event()) return;
  const auto [kind, name] = copy_name(c.event.copy_kind);
  const std::uint32_t to =
      c.event.dst_device == model::kNoObject ? c.event.device : c.event.dst_device;
  stats_.clear();
  stats_.ref(plane_.stat("memcpy_details"),
             plane_.stat(fmt::format("kind_src:{}\nkind_dst:{}\nnum_bytes:{}\ndest:{}\nasync:{}",
                                     memory_word(c.event.src_kind), memory_word(c.event.dst_kind),
                                     c.event.bytes, to, c.event.asynchronous)));
  add(c.event, c.owner, plane_.event(name), kind);
}

void XplaneGpuBuilder::add(const ResolvedGpuEvent<model::MemSet>& s) {
  if (!file_.try_add_event()) return;
  stats_.clear();
  stats_.ref(
      plane_.stat("Memset_details"),
      plane_.stat(fmt::format("kind:{}\nnum_bytes:{}\nvalue:{}", memory_word(s.event.memory_kind),
                              s.event.bytes, s.event.value)));
  add(s.event, s.owner, plane_.event("Memset"), kMemset);
}

void XplaneGpuBuilder::add(const ResolvedGpuEvent<model::GraphExec>& g) {
  if (!file_.try_add_event()) return;
  stats_.clear();
  stats_.number(plane_.stat("cuda_graph_exec_id"), g.event.graph);
  add(g.event, g.owner, plane_.event(fmt::format("CudaGraphExec:{}", g.event.graph)), kGraph);
}

void XplaneGpuBuilder::add(const model::Allocation& e) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t model::Allocation::*>, 2> kTracks =
      {{{"memory allocated (bytes)", &model::Allocation::total_allocated_bytes},
        {"memory reserved (bytes)", &model::Allocation::total_reserved_bytes}}};
  if (counters_ == nullptr) counters_ = &plane_.line(kCounterLine, kCounterLine, "_counters_");
  for (const auto& [name, member] : kTracks) {
    if (!file_.try_add_event()) return;
    stats_.clear();
    stats_.floating(plane_.stat("bytes"), static_cast<double>(e.*member));
    plane_.add(*counters_, e.start_ns, e.start_ns, plane_.event(name), stats_.bytes());
  }
}

/// Work without an operator must have a name, too: what has none counts as idle.
XplaneId XplaneGpuBuilder::unattributed_op(const XplaneLaunch* launch) {
  return unattributed_.get(launch != nullptr ? launch->name : 0, [&] {
    const std::string_view api =
        launch != nullptr ? prescan_.names.text(launch->name) : "launch_not_seen";
    return plane_.stat(fmt::format("unattributed/{}:cuda_launch", api));
  });
}

/// Of the contexts of a device several may have a stream of one number.
void XplaneGpuBuilder::name_rows() {
  std::map<std::uint32_t, unsigned> contexts;
  for (const auto& [key, row] : rows_) ++contexts[row.stream];
  std::int64_t place = 1;
  for (auto& [key, row] : rows_) {
    std::vector<std::string> kinds;
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
      if ((row.kinds >> kind & 1) != 0) kinds.emplace_back(kKinds[kind]);
    const bool shared = contexts[row.stream] > 1;
    row.line->id = shared ? (std::int64_t{row.context} & 0x3fff) << 16 | (row.stream & 0xffff)
                          : std::int64_t{row.stream & 0xffffff};
    row.line->name = fmt::format("Stream #{}({}){}", row.stream, support::join(kinds, ","),
                                 shared ? fmt::format(" of context {}", row.context) : "");
    row.line->display_id = place;
    place += XplanePlane::kMaxOverflowLines + 1;
  }
}

/// A step of the readers lasts from its first kernel to its last: these carry it to what the host
/// saw, and the time before the first kernel is not lost. The readers begin a step anew whenever
/// work of another step begins in between, so that a window waits for the work of the steps before.
void XplaneGpuBuilder::add_step_windows() {
  if (prescan_.steps.empty()) return;
  XplaneLine& line = plane_.line(kStepLine, kStepLine, "Step window");
  const XplaneId name = plane_.event("step window");
  std::uint64_t earlier_ns = 0;
  for (const model::Step& step : prescan_.steps) {
    const std::uint32_t id = xplane_step_at(prescan_.steps, step.start_ns);
    const std::uint64_t start_ns = std::max(step.start_ns, earlier_ns);
    if (start_ns < step.end_ns) plane_.add(line, start_ns, step.end_ns, name).step = id;
    if (last_begun_ns_[id] != 0) earlier_ns = std::max(earlier_ns, last_begun_ns_[id] + 1);
  }
  file_.left_out += plane_.sort_and_nest(line, [](XplaneEvent&, auto) {});
}

void XplaneGpuBuilder::finish() {
  name_rows();
  last_begun_ns_.assign(prescan_.steps.size() + 1, 0);
  const auto visit = [&](XplaneEvent& event, auto) {
    const XplaneLaunch* const launch = file_.launch_of(event.correlation);
    if (launch != nullptr)
      last_begun_ns_[launch->step] = std::max(last_begun_ns_[launch->step], event.start_ns);
    const TfOpNames::Text text = file_.ops.op_name_of(event.owner, plane_.event_name(event.name));
    event.extra = text == 0
                      ? unattributed_op(launch)
                      : op_texts_.get(text, [&] { return plane_.stat(file_.ops.text(text)); });
  };
  for (auto& [key, row] : rows_) file_.left_out += plane_.sort_and_nest(*row.line, visit);
  if (counters_ != nullptr) plane_.sort_and_nest(*counters_, [](XplaneEvent&, auto) {});
  add_step_windows();
}

}  // namespace gpuprof::exporter
