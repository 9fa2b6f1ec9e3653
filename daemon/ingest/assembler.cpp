// SPDX-License-Identifier: Apache-2.0
//
// The records that touch more than one part, and the order of the parts at a round's end.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/assembler.hpp"

#include <algorithm>
#include <random>

namespace gpuprof::ingest {
namespace {

constexpr std::uint64_t kLossPeriodNs = 50'000'000;

std::uint64_t random_salt() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

Assembler::Assembler(model::EventSink& sink, StepListener* listener, const Limits& limits)
    : sink_(sink),
      listener_(listener),
      limits_(limits),
      definitions_(sink, losses_, limits_, random_salt()),
      pending_events_(definitions_, sink, losses_, life_, counts_),
      ranges_(definitions_, pending_events_, losses_, limits_, next_range_),
      operators_(definitions_, sink, losses_, life_, counts_, limits_, next_range_),
      launches_(limits_),
      correlator_(definitions_, sink, losses_, clock_tracker_, life_, launches_, range_history_,
                  counts_),
      steps_(sink, losses_, limits_, life_, counts_, listener),
      finder_(steps_, definitions_, sink, listener) {}

void Assembler::on(const RingInfo& ring, const wire::Lost& r, const Tail&) {
  const bool timed = life_.contains(r.first_ns, r.last_ns);
  ring_drops_.add_reported(ring, r.count, timed ? r.first_ns : 0, timed ? r.last_ns : 0);
  if (ring.role == static_cast<std::uint32_t>(wire::RingRole::kSignal)) return;
  ranges_.ring_lost(ring, r.first_ns);
  operators_.ring_lost(ring, r.first_ns);
  range_history_.enter(ring.tid, timed ? r.first_ns : 0, 0);
  finder_.ring_lost(ring);
}

void Assembler::on(const RingInfo&, const wire::Sample& r, const Tail&) {
  finder_.add_sample(r);
  pending_events_.send(
      model::Sample{r.ts_ns, r.weight_ns, r.tid, definitions_.stack(r.stack_id), r.state});
}

void Assembler::on(const RingInfo& ring, const wire::Launch& r, const Tail&) {
  if (!life_.contains(r.ts_ns))
    return losses_.add(model::LossReason::kTimeImplausible, ring.tid, 1, 0, 0);
  ++counts_.launches;
  note_activity(r.ts_ns);
  const model::StackId stack = definitions_.stack(r.stack_id);
  ranges_.launched(ring, stack);
  operators_.on_launch(ring, r.op_id, r.ts_ns);
  finder_.launched(ring, r);
  launches_.add(r, launching_range(ring, r.op_id), stack);
}

void Assembler::note_activity(std::uint64_t ts_ns) {
  if (active_) return;
  active_ = true;
  if (listener_ != nullptr) listener_->first_activity(ts_ns);
}

// Ranges of NVTX and operators nest in each other: the one that began last is the innermost.
model::RangeId Assembler::innermost(const RingInfo& ring, std::uint32_t op_id) const {
  std::uint64_t range_ns = 0;
  const model::RangeId range = ranges_.innermost(ring, &range_ns);
  const OperatorTracker::Innermost op = operators_.innermost(ring, op_id);
  return op.id != 0 && op.start_ns >= range_ns ? op.id : range;
}

// CUB and others push ranges of their own inside an operator: what they launch is the operator's,
// as PyTorch's profiler has it. In a range of the program's own they are what is innermost.
model::RangeId Assembler::launching_range(const RingInfo& ring, std::uint32_t op_id) const {
  const OperatorTracker::Innermost op = operators_.innermost(ring, op_id);
  return op.id != 0 && op.scope != model::kScopeUser ? op.id : innermost(ring, op_id);
}

// Something began or ended on the ring buffer's thread.
void Assembler::update_enclosing_range(const RingInfo& ring, std::uint64_t ts_ns) {
  if (life_.contains(ts_ns)) range_history_.enter(ring.tid, ts_ns, launching_range(ring, 0));
}

void Assembler::on(const RingInfo& ring, const wire::OpBegin& r, const Tail&) {
  if (!life_.contains(r.ts_ns))
    return losses_.add(model::LossReason::kTimeImplausible, ring.tid, 1, 0, 0);
  note_activity(r.ts_ns);
  operators_.advance_to(ring, r.ts_ns);
  operators_.begin(ring, r, innermost(ring, 0), ranges_.depth(ring));
  update_enclosing_range(ring, r.ts_ns);
  finder_.begin(ring, r);
}

void Assembler::on(const RingInfo& ring, const wire::OpEnd& r, const Tail&) {
  const OperatorTracker::Innermost open =
      r.op_id == 0 ? OperatorTracker::Innermost{} : operators_.innermost(ring, r.op_id);
  operators_.end(ring, r);
  update_enclosing_range(ring, r.ts_ns);
  finder_.end(ring, r);
  if (open.id != 0 && open.scope == model::kScopeUser)
    finder_.range_ended(ring.tid, open.start_ns, r.ts_ns);
}

void Assembler::on(const RingInfo& ring, const wire::LoopMark& r, const Tail&) {
  if (!life_.contains(r.ts_ns))
    return losses_.add(model::LossReason::kTimeImplausible, ring.tid, 1, 0, 0);
  finder_.mark(ring, r);
}

void Assembler::on(const RingInfo& ring, const wire::Allocation& r, const Tail&) {
  if (!life_.contains(r.ts_ns))
    return losses_.add(model::LossReason::kTimeImplausible, ring.tid, 1, 0, 0);
  ++counts_.allocations;
  sink_.on(model::Allocation{r.ts_ns, r.ts_ns, r.address, r.bytes, r.total_allocated_bytes,
                             r.total_reserved_bytes, ring.tid, r.device_type, r.device});
}

void Assembler::on(const RingInfo&, const wire::ContextInfo& r, const Tail&) {
  ++counts_.contexts;
  sink_.on(model::Context{r.context, r.device, r.null_stream});
}

void Assembler::on(const RingInfo&, const wire::StreamInfo& r, const Tail&) {
  sink_.on(model::Stream{r.context, r.stream, r.priority});
}

void Assembler::on(const RingInfo&, const wire::DeviceInfo& r, const Tail&) {
  const model::StringId name = definitions_.string(r.name_id);
  definitions_.resolve_string(name);
  model::Device device{};
  device.device = r.device;
  device.name = name;
  device.total_memory_bytes = r.total_memory_bytes;
  std::copy(std::begin(r.uuid), std::end(r.uuid), device.uuid.begin());
  device.compute_major = r.compute_major, device.compute_minor = r.compute_minor;
  device.sm_count = r.sm_count, device.warp_size = r.warp_size;
  device.max_threads_per_block = r.max_threads_per_block;
  device.max_threads_per_sm = r.max_threads_per_sm;
  device.max_blocks_per_sm = r.max_blocks_per_sm;
  device.registers_per_block = r.registers_per_block;
  device.registers_per_sm = r.registers_per_sm;
  device.shared_per_block_bytes = r.shared_per_block_bytes;
  device.shared_per_sm_bytes = r.shared_per_sm_bytes;
  device.shared_per_block_optin_bytes = r.shared_per_block_optin_bytes;
  device.shared_reserved_bytes = r.shared_reserved_bytes;
  device.clock_khz = r.clock_khz, device.memory_clock_khz = r.memory_clock_khz;
  device.memory_bus_bits = r.memory_bus_bits, device.l2_bytes = r.l2_bytes;
  sink_.on(device);
}

// The model has no event of its own for compilations; they are host time CUPTI explains, as its
// overhead records are.
void Assembler::on(const RingInfo& ring, const wire::JitActivity& r, const Tail&) {
  constexpr std::uint32_t kDriverCompiler = 1;  // CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER
  constexpr std::uint32_t kThreadObject = 2;
  correlator_.add(
      wire::Overhead{r.start_ns, r.end_ns, kDriverCompiler, kThreadObject, r.tid, r.correlation},
      place(ring));
}

void Assembler::on(const RingInfo& ring, const wire::ClockSync& r, const Tail&) {
  if (!life_.contains(r.mono_ns))
    return losses_.add(model::LossReason::kTimeImplausible, ring.tid, 1, 0, 0);
  const std::int64_t stepped = clock_tracker_.add(r);
  clock_ring_ = ring.index;
  last_delivery_ns_ = std::max(last_delivery_ns_, r.mono_ns);
  launches_.answers().on_flush(r.mono_ns);
  sink_.on(model::ClockSnapshot{r.mono_ns, r.real_ns, r.boot_ns, r.cupti_ns, r.uncertainty_ns});
  clock_report_.reading(sink_, clock_tracker_, r.mono_ns, stepped);
}

void Assembler::end_round(std::uint64_t now_ns) {
  finder_.round_done(now_ns);
  steps_.round_done();
  clock_tracker_.set_now(now_ns);
  correlator_.round_done();
  operators_.round_done(now_ns);
  clock_report_.round_done(sink_, clock_tracker_);
  pending_events_.round_done();
  if (rounds_to_close_ != 0 && --rounds_to_close_ == 0) {
    ranges_.close_before(stopped_ns_);
    operators_.close_before(stopped_ns_);
    range_history_.leave_all(stopped_ns_);
  }
  if (!losses_.empty() && now_ns - losses_written_ns_ >= kLossPeriodNs) write_losses(now_ns);
}

void Assembler::write_losses(std::uint64_t now_ns) {
  losses_.write(sink_, now_ns);
  losses_written_ns_ = now_ns;
}

void Assembler::recording_stopped(std::uint64_t ts_ns) {
  stopped_ns_ = ts_ns;
  rounds_to_close_ = 2;
  launches_.answers().ended(ts_ns);
}

void Assembler::finish(std::uint64_t now_ns) {
  end_round(now_ns);
  ranges_.close_before(now_ns);
  finder_.finish(now_ns);
  // What is still open ends with the program, and so does the step it is in.
  operators_.for_each_open(now_ns,
                           [&](std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns) {
                             finder_.range_ended(tid, begin_ns, end_ns);
                           });
  operators_.close_before(now_ns);
  steps_.round_done();
  steps_.finish();
  finder_.report_unattributed_pauses();
  correlator_.finish();
  clock_report_.finish(sink_, clock_tracker_);
  pending_events_.round_done();
  pending_events_.round_done();
  losses_.write(sink_, now_ns);
}

}  // namespace gpuprof::ingest
