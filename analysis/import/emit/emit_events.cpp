// SPDX-License-Identifier: Apache-2.0
//
// Emitter: records as events of the model.
//
// Context:  cli through analysis/commands
#include "analysis/import/emit/emit.hpp"
#include "recording/model/imported_values.hpp"
#include "recording/model/work_lag.hpp"

namespace gpuprof::importer {
namespace {

/// No step is drawn longer than it was by more.
constexpr std::int64_t kStepMoreNs = 1000;

}  // namespace

void Emitter::write_operator(const OpenOperator& o) {
  const ParsedEvent& r = o.record;
  if (!overlaps_window(r)) return skip_outside_window(r);
  SessionProcess& to = *processes_[r.process].session;
  model::Operator e{};
  e.start_ns = at(r.start_ns);
  e.end_ns = at(r.end_ns);
  e.id = o.id;
  e.parent = o.parent;
  e.sequence = r.op.sequence;
  e.name = to.definitions().string(r.name);
  e.stack = to.definitions().stack(o.stack);
  e.inputs = r.kind == ParsedKind::kOperator ? to.definitions().inputs(r.op.inputs) : 0;
  e.tid = r.tid;
  e.end_tid = r.op.end_tid;
  e.forward_tid = r.op.forward_tid;
  e.scope = r.op.scope;
  e.flags = r.op.flags;
  to.writer().on(e);
}

void Emitter::write_range(const OpenOperator& o, model::RangeKind kind) {
  const ParsedEvent& r = o.record;
  if (!overlaps_window(r)) return skip_outside_window(r);
  SessionProcess& to = *processes_[r.process].session;
  to.domain(r.op.inputs, names_);
  model::Range e{};
  e.start_ns = at(r.start_ns);
  e.end_ns = at(r.end_ns);
  e.id = o.id;
  e.parent = o.parent;
  e.name = to.definitions().string(r.name);
  e.tid = r.tid;
  e.end_tid = kind == model::RangeKind::kMark ? r.tid : r.op.end_tid;
  e.domain = r.op.inputs;
  e.category = r.op.forward_tid;
  e.payload_type = r.op.payload_type;
  e.payload = r.op.payload;
  e.kind = kind;
  e.flags = r.op.flags;
  e.stack = to.definitions().stack(o.stack);
  to.writer().on(e);
}

void Emitter::write_call(const OpenOperator& o) {
  const ParsedEvent& r = o.record;
  if (!starts_in_window(r.start_ns)) return skip_outside_window(r);
  SessionProcess& to = *processes_[r.process].session;
  model::ApiCall e{};
  e.start_ns = at(r.start_ns);
  e.end_ns = at(r.end_ns);
  e.range = o.parent;
  e.name = to.definitions().string(r.name);
  e.tid = r.tid;
  e.cbid = r.call.cbid;
  e.api = r.call.api;
  e.correlation = r.call.correlation;
  e.result = r.call.result;
  e.stack = to.definitions().stack(o.stack);
  to.writer().on(e);
  if (e.api != model::kApiWait) return;
  model::Sync wait{};
  wait.start_ns = e.start_ns;
  wait.end_ns = e.end_ns;
  wait.range = e.range;
  wait.launch_tid = e.tid;
  wait.stream = wait.event = model::kNoObject;
  to.writer().on(wait);
}

void Emitter::write_step(const ParsedEvent& r) {
  SessionProcess& to = *processes_[r.process].session;
  std::int64_t end_ns = r.end_ns;
  // gpuprof draws a step a little beyond its last operator; it was whole in its window.
  if (content_.head.written_by_gpuprof && end_ns > window_to_ns_ &&
      end_ns <= window_to_ns_ + kStepMoreNs)
    end_ns = std::max(r.start_ns, window_to_ns_);
  const bool whole = r.start_ns >= window_from_ns_ && end_ns <= window_to_ns_;
  // What the program made itself stays an operator.
  if (!whole && r.is_also_operator == 0) return skip_outside_window(r);
  model::Step e{};
  e.start_ns = at(r.start_ns);
  e.end_ns = at(end_ns);
  e.number = r.step.number != ~0ULL ? r.step.number : to.next_step();
  to.note_step_number(e.number);
  e.label = r.step.label;
  e.tid = r.tid;
  e.source = r.step.source;
  e.confidence = r.step.confidence;
  e.where = to.definitions().string(r.step.where);
  to.writer().on(e);
}

void Emitter::write_allocation(const ParsedEvent& r) {
  if (!starts_in_window(r.start_ns)) return skip_outside_window(r);
  const AllocationFields& a = r.allocation;
  processes_[r.process].session->writer().on(
      model::Allocation{at(r.start_ns), at(r.start_ns), a.address, a.bytes, a.allocated, a.reserved,
                        r.tid, a.device_type, a.device});
}

void Emitter::write_sample(const ParsedEvent& r) {
  if (!starts_in_window(r.start_ns)) return skip_outside_window(r);
  SessionProcess& to = *processes_[r.process].session;
  to.writer().on(model::Sample{at(r.start_ns), static_cast<std::uint64_t>(r.end_ns - r.start_ns),
                               r.tid, to.definitions().stack(r.sample.stack), r.sample.state});
}

void Emitter::write_overhead(const ParsedEvent& r) {
  if (!starts_in_window(r.start_ns)) return skip_outside_window(r);
  processes_[r.process].session->writer().on(
      model::Overhead{at(r.start_ns), at(r.end_ns), r.overhead.kind, 0, r.tid, 0});
}

template <typename E>
void Emitter::write_gpu_event(const ParsedEvent& r, const Launch& launch, SessionProcess& to, E e) {
  e.start_ns = at(r.start_ns);
  e.end_ns = at(r.end_ns);
  e.range = launch.range;
  e.correlation = written_correlation(r, launch);
  e.launch_tid = launch.tid;
  e.context = r.gpu.context;
  e.stream = r.gpu.stream;
  if constexpr (requires { e.device; }) e.device = r.gpu.device;
  if constexpr (requires { e.graph; }) e.graph = r.gpu.graph;
  if constexpr (requires { e.graph_node; }) e.graph_node = r.gpu.graph_node;
  to.context(content_, r.gpu.context, r.gpu.device);
  to.writer().on(e);
}

/// A session's window has what was launched in it, and numbers below its first launch are another
/// window's. A file of others is one window: what nothing in it launched gets a number behind all.
std::uint32_t Emitter::written_correlation(const ParsedEvent& r, const Launch& launch) {
  if (launch.correlation != 0) return launch.correlation;
  const std::uint32_t own = r.gpu.correlation, first = processes_[launch.process].first_launched;
  if (content_.head.written_by_gpuprof || (first != 0 && own > first)) return own;
  return kFirstSyntheticWorkId + synthetic_ids_++ % (~0U - kFirstSyntheticWorkId);
}

/// Work belongs to the window of its launch, else to that of its begin; it is looked for in the
/// window, and for a while behind.
bool Emitter::gpu_reaches(const ParsedEvent& r, const Launch& launch) const {
  if (r.kind == ParsedKind::kSync) return starts_in_window(r.start_ns);
  if (r.end_ns < window_from_ns_) return false;
  if (launch.correlation == 0) return starts_in_window(r.start_ns);
  return r.start_ns - window_to_ns_ < static_cast<std::int64_t>(model::kMaxWorkLagNs);
}

void Emitter::write_gpu(const ParsedEvent& r) {
  const GpuFields& gpu = r.gpu;
  Launch launch = find_launch(r);
  if (launch.process >= processes_.size() || processes_[launch.process].session == nullptr) return;
  if (!gpu_reaches(r, launch)) return skip_outside_window(r);
  const bool runs = r.kind == ParsedKind::kKernel || r.kind == ParsedKind::kMemCopy ||
                    r.kind == ParsedKind::kMemSet;
  if (runs && launch.tid == 0) ++processes_[launch.process].unlaunched;
  SessionProcess& to = *processes_[launch.process].session;
  // What the launch itself does not say, its GPU event may.
  if (launch.range == 0 && gpu.external_id != 0)
    launch.range = range_of(launch.process, gpu.external_id, nullptr);
  if (r.kind == ParsedKind::kKernel) {
    const LaunchShape& shape = names_.shapes.shape(gpu.shape);
    model::Kernel e{};
    e.name = to.definitions().string(r.name);
    e.grid = {shape.grid[0], shape.grid[1], shape.grid[2]};
    e.block = {shape.block[0], shape.block[1], shape.block[2]};
    e.registers = shape.registers;
    e.static_shared_bytes = shape.shared_bytes;
    e.local_per_thread_bytes = shape.local_bytes;
    e.channel = gpu.is_collective != 0 ? model::kChannelOfCollective : shape.channel;
    write_gpu_event(r, launch, to, e);
  } else if (r.kind == ParsedKind::kMemCopy) {
    model::MemCopy e{};
    e.bytes = gpu.bytes;
    e.dst_device = gpu.to_device;
    e.copy_kind = gpu.kind;
    e.src_kind = gpu.from;
    e.dst_kind = gpu.to;
    write_gpu_event(r, launch, to, e);
  } else if (r.kind == ParsedKind::kMemSet) {
    model::MemSet e{};
    e.bytes = gpu.bytes;
    e.memory_kind = gpu.to;
    write_gpu_event(r, launch, to, e);
  } else if (r.kind == ParsedKind::kSync) {
    model::Sync e{};
    e.type = gpu.kind;
    e.event = gpu.to_device;
    write_gpu_event(r, launch, to, e);
  } else {
    write_gpu_event(r, launch, to, model::GraphExec{});
  }
}

}  // namespace gpuprof::importer
