// SPDX-License-Identifier: Apache-2.0
//
// The plane of the host: a thread's steps, operators, calls and allocations nest on one row, since
// what is inside a step on its row belongs to it; other layers have rows of their own.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/prescan/step_index.hpp"
#include "analysis/export/xplane/xplane_builders.hpp"

namespace gpuprof::exporter {
namespace {

/// Ids of a layer's rows: above any thread's.
constexpr std::int64_t kLayerIds = 1 << 23;

constexpr std::array<std::string_view, 7> kLayerNames = {
    "",         " overlapping operators", " NVTX",          " modules",
    " samples", " waits for the GPU",     " CUPTI overhead"};

/// Where one colon and a word follow, xprof takes the word for the type of an operator.
std::string without_type(std::string_view name) {
  std::string text(name);
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return text;
  const char next = colon + 1 < text.size() ? text[colon + 1] : '_';
  const bool word = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '_';
  if (word) text[colon] = '/';
  return text;
}

/// Launches are counted by their names, which must not begin like CUDA's.
std::string_view launch_name(std::string_view call) {
  if (call.find("Launch") == std::string_view::npos) return call;
  for (const std::string_view prefix : {"cuda", "cu"})
    if (call.starts_with(prefix)) return call.substr(prefix.size());
  return call;
}

}  // namespace

std::uint32_t xplane_step_at(const std::vector<model::Step>& steps, std::uint64_t ns) {
  const model::Step* const step = step_at(steps, ns);
  return step == nullptr ? 0 : static_cast<std::uint32_t>(step - steps.data() + 1);
}

XplaneHostBuilder::XplaneHostBuilder(XplaneContext& file)
    : file_(file),
      prescan_(file.shown.prescan()),
      plane_(0, "/host:CPU"),
      slices_(prescan_.window.end_ns,
              [this](const SampleSlices::SliceEdge& change) {
                if (!change.begins && change.at_ns > change.start_ns) add_slice(change);
              }),
      train_(plane_.event("train")),
      correlation_(plane_.stat("correlation_id")),
      stack_(plane_.stat("stack")),
      inputs_(plane_.stat("inputs")) {}

XplaneLine& XplaneHostBuilder::row(std::uint32_t tid, TrackLayer layer) {
  if (last_rows_ == nullptr || tid != last_tid_) {
    last_rows_ = &rows_[tid];
    last_tid_ = tid;
  }
  XplaneLine*& row = (*last_rows_)[layer];
  if (row != nullptr) return *row;
  const auto known = prescan_.threads.find(tid);
  std::string name = known == prescan_.threads.end() || known->second.name.empty()
                         ? fmt::format("thread/{}", tid)
                         : fmt::format("{}/{}", known->second.name, tid);
  row = &plane_.line(layer * kLayerIds + std::int64_t{tid}, 0, name.append(kLayerNames[layer]));
  return *row;
}

/// An event shown as `name` that is none of xprof's own, whatever a program calls it.
XplaneId XplaneHostBuilder::prefixed_event(std::string_view word, std::string_view name) {
  return plane_.event(fmt::format("{} {}", word, without_type(name)), name);
}

void XplaneHostBuilder::stack(model::StackId stack, std::uint64_t ts_ns) {
  if (stack == 0) return;
  const XplaneId text = stack_ids_.get(
      stack, [&] { return plane_.stat(file_.shown.stacks().joined_frames(stack, ts_ns)); });
  stats_.ref(stack_, text);
}

void XplaneHostBuilder::add(const ResolvedStep& step) {
  if (!file_.try_add_event()) return;
  XplaneLine& line = row(step.event.tid, kMain);
  stats_.clear();
  stats_.integer(plane_.stat("_r"), 1)
      .integer(plane_.stat("step_num"), static_cast<std::int64_t>(step.event.label))
      .integer(plane_.stat("_pt"), 0)
      .number(plane_.stat("_p"), xplane_step_at(prescan_.steps, step.event.start_ns));
  if (!step.where.empty()) stats_.ref(plane_.stat("loop"), plane_.stat(step.where));
  plane_.add(line, step.event.start_ns, step.event.end_ns, train_, stats_.bytes()).order = ~0u;
}

XplaneId XplaneHostBuilder::op_name(const ResolvedOperator& op) {
  const bool user = op.event.scope == model::kScopeUser;
  return (user ? user_ids_ : op_ids_).get(op.event.name, [&] {
    return user ? prefixed_event("range", op.name) : plane_.event(without_type(op.name), op.name);
  });
}

void XplaneHostBuilder::add(const ResolvedOperator& op) {
  if (!file_.try_add_event()) return;
  file_.ops.add(op);
  stats_.clear();
  stack(op.event.stack, op.event.start_ns);
  if (op.event.inputs != 0) {
    const XplaneId text = input_ids_.get(op.event.inputs, [&] {
      std::string_view members = file_.shown.prescan().inputs.json_members(op.event.inputs);
      if (members.starts_with(',')) members.remove_prefix(1);
      return plane_.stat(members);
    });
    stats_.ref(inputs_, text);
  }
  if (op.event.sequence >= 0) stats_.integer(plane_.stat("sequence"), op.event.sequence);
  if (is_data_loader(op.name))
    stats_.integer(plane_.stat("_ipl_stage_id"), 1)
        .ref(plane_.stat("_ipl_stage_name"), plane_.stat("DataLoader"))
        .ref(plane_.stat("_ipl_stage_cat"), plane_.stat("read"));
  XplaneLine& line = row(op.event.tid, op.nesting == Nesting::kOverlapping ? kOverlapping : kMain);
  XplaneEvent& event =
      plane_.add(line, op.interval.start_ns, op.interval.end_ns, op_name(op), stats_.bytes());
  event.kind = XplaneEvent::Kind::kHasOp;
  event.owner = op.event.id;
}

void XplaneHostBuilder::add(const ResolvedRange& range) {
  if (!file_.try_add_event()) return;
  file_.ops.add(range);
  stats_.clear();
  if (!range.domain.empty()) stats_.ref(plane_.stat("domain"), plane_.stat(range.domain));
  if (range.event.payload_type != 0) stats_.number(plane_.stat("payload"), range.event.payload);
  const XplaneId name =
      range_ids_.get(range.event.name, [&] { return prefixed_event("NVTX", range.name); });
  plane_.add(row(range.event.tid, kRanges), range.interval.start_ns, range.interval.end_ns, name,
             stats_.bytes());
}

void XplaneHostBuilder::add(const ResolvedApiCall& call) {
  if (!file_.try_add_event()) return;
  const bool launch = call.has_gpu_work && !call.nested;
  stats_.clear();
  if (launch) stats_.number(correlation_, call.event.correlation);
  if (call.event.result != 0) stats_.integer(plane_.stat("result"), call.event.result);
  stack(call.event.stack, call.event.start_ns);
  const XplaneId name = call_ids_.get(call.event.name * 2 + (launch ? 1 : 0), [&] {
    return plane_.event(launch ? launch_name(call.name) : call.name, call.name);
  });
  XplaneEvent& event = plane_.add(row(call.event.tid, kMain), call.event.start_ns,
                                  call.event.end_ns, name, stats_.bytes());
  if (!launch) return;
  event.kind = XplaneEvent::Kind::kLaunch;
  event.correlation = call.event.correlation;
  file_.launches.push_back({call.event.correlation, call.event.name,
                            xplane_step_at(prescan_.steps, call.event.start_ns)});
}

void XplaneHostBuilder::add(const ResolvedSync& sync) {
  if (!file_.try_add_event()) return;
  stats_.clear();
  if (sync.event.stream != model::kNoObject)
    stats_.number(plane_.stat("stream"), sync.event.stream);
  const std::uint32_t tid =
      sync.event.launch_tid != 0 ? sync.event.launch_tid : prescan_.main_tid();
  plane_.add(row(tid, kWaits), sync.event.start_ns, sync.event.end_ns, plane_.event(sync.name),
             stats_.bytes());
}

void XplaneHostBuilder::add(const ResolvedOverhead& overhead) {
  if (!file_.try_add_event()) return;
  const std::uint32_t tid = overhead.event.tid != 0 ? overhead.event.tid : prescan_.main_tid();
  plane_.add(row(tid, kOverheads), overhead.event.start_ns, overhead.event.end_ns,
             plane_.event(overhead.name));
}

void XplaneHostBuilder::add(const ModuleCall& call) {
  if (!file_.try_add_event()) return;
  const XplaneId name =
      plane_.event(without_type(prescan_.modules.name(call.path, prescan_.names)));
  // Of those that end together the outermost comes first.
  plane_.add(row(call.tid, kModules), call.start_ns, call.end_ns, name).order ^= ~0u;
}

void XplaneHostBuilder::add_slice(const SampleSlices::SliceEdge& slice) {
  if (!file_.try_add_event()) return;
  XplaneId name = 0;
  if (slice.frame >= SampleSlices::kTruncated)
    name = plane_.event(SampleSlices::text_of(slice.frame, file_.shown.stacks()));
  else
    name = frame_ids_.get(slice.frame, [&] {
      return prefixed_event("frame", file_.shown.stacks().name(slice.frame));
    });
  plane_.add(row(slice.tid, kSamples), slice.start_ns, slice.at_ns, name);
}

void XplaneHostBuilder::add(const model::Allocation& e) {
  if (!file_.try_add_event()) return;
  const std::int32_t device = e.device_type == 0 ? -1 : e.device;
  std::uint64_t& peak = peaks_[device];
  peak = std::max(peak, e.total_allocated_bytes);
  const auto known = prescan_.devices.find(static_cast<std::uint32_t>(device));
  const std::uint64_t whole = known == prescan_.devices.end() || device < 0
                                  ? e.total_reserved_bytes
                                  : known->second.total_memory_bytes;
  const auto bytes = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  const std::uint64_t used = e.total_allocated_bytes;
  const std::int64_t size = e.bytes < 0 ? -e.bytes : e.bytes;
  const double unused =
      e.total_reserved_bytes > used
          ? 1.0 - static_cast<double>(used) / static_cast<double>(e.total_reserved_bytes)
          : 0.0;
  stats_.clear();
  stats_
      .ref(plane_.stat("allocator_name"),
           plane_.stat(device < 0 ? "CPU" : fmt::format("GPU:{}", device)))
      .integer(plane_.stat("bytes_allocated"), bytes(used))
      .integer(plane_.stat("bytes_available"), bytes(whole > used ? whole - used : 0))
      .integer(plane_.stat("bytes_reserved"), 0)
      .integer(plane_.stat("peak_bytes_in_use"), bytes(peak))
      .integer(plane_.stat("requested_bytes"), size)
      .integer(plane_.stat("allocation_bytes"), size)
      .integer(plane_.stat("addr"), bytes(e.address))
      .floating(plane_.stat("fragmentation"), unused);
  const XplaneId name = plane_.event(e.bytes < 0 ? "MemoryDeallocation" : "MemoryAllocation");
  plane_.add(row(e.tid, kMain), e.start_ns, e.start_ns, name, stats_.bytes()).kind =
      XplaneEvent::Kind::kMemory;
  if (device < 0) count_memory(e);
}

void XplaneHostBuilder::count_memory(const model::Allocation& e) {
  if (!file_.try_add_event()) return;
  if (counters_ == nullptr) counters_ = &plane_.line(kCounterLine, kCounterLine, "_counters_");
  stats_.clear();
  stats_.floating(plane_.stat("bytes"), static_cast<double>(e.total_allocated_bytes));
  plane_.add(*counters_, e.start_ns, e.start_ns, plane_.event("CPU memory of PyTorch (bytes)"),
             stats_.bytes());
}

/// The tables count everything that has a tf_op: an allocation must not have its operator's.
XplaneId XplaneHostBuilder::memory_op(XplaneId op) {
  return memory_texts_.get(op, [&] {
    const std::string_view text = plane_.stat_name(op);
    return plane_.stat(fmt::format("{}/memory:allocation", text.substr(0, text.find(':'))));
  });
}

void XplaneHostBuilder::sort_and_nest(XplaneLine& line, TrackLayer layer) {
  const bool in_steps = layer == kMain || layer == kOverlapping;
  const auto device_of = [&](std::uint32_t correlation) {
    const auto found = std::lower_bound(file_.planes.begin(), file_.planes.end(),
                                        std::pair<std::uint32_t, std::uint32_t>{correlation, 0});
    return found != file_.planes.end() && found->first == correlation ? found->second : 0;
  };
  const auto visit = [&](XplaneEvent& event, std::span<const XplaneEvent* const> around) {
    if (in_steps && around.empty() && event.name != train_)
      event.step = xplane_step_at(prescan_.steps, event.start_ns);
    if (event.kind == XplaneEvent::Kind::kLaunch) event.extra = device_of(event.correlation) + 1;
    if (event.kind == XplaneEvent::Kind::kHasOp) {
      const TfOpNames::Text text = file_.ops.op_name_of(event.owner);
      if (text != 0)
        event.extra = op_texts_.get(text, [&] { return plane_.stat(file_.ops.text(text)); });
    }
    if (event.kind == XplaneEvent::Kind::kMemory)
      for (const XplaneEvent* const outer : around)
        if (outer->kind == XplaneEvent::Kind::kHasOp && outer->extra != 0)
          event.extra = memory_op(outer->extra);
  };
  file_.left_out += plane_.sort_and_nest(line, visit);
}

void XplaneHostBuilder::finish() {
  slices_.finish();
  const auto resolve_thread = [&](const ThreadLines& rows, std::int64_t& place) {
    for (int layer = 0; layer < kLayers; ++layer) {
      if (rows[static_cast<std::size_t>(layer)] == nullptr) continue;
      XplaneLine& line = *rows[static_cast<std::size_t>(layer)];
      line.display_id = place;
      place += XplanePlane::kMaxOverflowLines + 1;
      sort_and_nest(line, static_cast<TrackLayer>(layer));
    }
  };
  std::int64_t place = 1;
  const auto main = rows_.find(prescan_.main_tid());
  if (main != rows_.end()) resolve_thread(main->second, place);
  for (auto one = rows_.begin(); one != rows_.end(); ++one)
    if (one != main) resolve_thread(one->second, place);
  if (counters_ != nullptr) plane_.sort_and_nest(*counters_, [](XplaneEvent&, auto) {});
}

}  // namespace gpuprof::exporter
