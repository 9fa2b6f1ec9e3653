// SPDX-License-Identifier: Apache-2.0
//
// Sharing out times among steps.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/tfevents/step_scalars.hpp"

#include <algorithm>

#include "analysis/export/prescan/step_index.hpp"

namespace gpuprof::exporter {
namespace {

/// CUPTI's number of a stream that waits: the host does not.
constexpr std::uint32_t kStreamWaitsForEvent = 2;

}  // namespace

StepScalarsSink::StepScalarsSink(const Prescan& prescan) : main_tid_(prescan.main_tid()) {
  for (const model::Step& step : prescan.steps) {
    // Steps of another thread beside these would count the same time again.
    if (!steps_.empty() && step.start_ns < steps_.back().end_ns) continue;
    StepScalars one;
    one.start_ns = step.start_ns;
    one.end_ns = step.end_ns;
    one.label = step.label;
    steps_.push_back(one);
    tids_.push_back(step.tid);
  }
  if (!steps_.empty()) return;
  StepScalars whole;
  whole.start_ns = prescan.window.start_ns;
  whole.end_ns = prescan.window.end_ns;
  whole.label = prescan.window.index;
  steps_.push_back(whole);
  tids_.push_back(main_tid_);
}

/// Calls visit(step, ns) for each step the interval reaches into.
template <typename Visit>
void StepScalarsSink::for_each_step(const Interval& interval, Visit visit) {
  auto step =
      std::upper_bound(steps_.begin(), steps_.end(), interval.start_ns,
                       [](std::uint64_t at, const StepScalars& one) { return at < one.end_ns; });
  for (; step != steps_.end() && step->start_ns < interval.end_ns; ++step) {
    const std::uint64_t start = std::max(step->start_ns, interval.start_ns);
    const std::uint64_t end = std::min(step->end_ns, interval.end_ns);
    if (end > start) visit(*step, end - start);
  }
}

template <typename E>
void StepScalarsSink::busy(const ResolvedGpuEvent<E>& e) {
  Intervals& of_gpu = busy_[e.device];
  of_gpu.push_back({e.event.start_ns, e.event.end_ns});
  if (of_gpu.size() < kMaxIntervals) return;
  // What is settled so far is shared out; work that reaches into it later would count twice, by
  // the little that lies between two batches.
  distribute(of_gpu, &StepScalars::busy_ns);
}

void StepScalarsSink::distribute(Intervals& intervals, std::uint64_t StepScalars::*member) {
  normalize(intervals);
  for (StepScalars& step : steps_)
    step.*member += overlap_ns(intervals, step.start_ns, step.end_ns);
  intervals.clear();
}

void StepScalarsSink::on(const ResolvedGpuEvent<model::Kernel>& k) {
  busy(k);
  if (StepScalars* const step = step_at(steps_, k.event.start_ns)) ++step->kernels;
  for_each_step({k.event.start_ns, k.event.end_ns},
                [](StepScalars& step, std::uint64_t ns) { step.kernel_ns += ns; });
}

void StepScalarsSink::on(const ResolvedGpuEvent<model::MemCopy>& c) {
  busy(c);
  if (StepScalars* const step = step_at(steps_, c.event.start_ns))
    step->copy_bytes += c.event.bytes;
  for_each_step({c.event.start_ns, c.event.end_ns},
                [](StepScalars& step, std::uint64_t ns) { step.copy_ns += ns; });
}

void StepScalarsSink::on(const ResolvedOperator& op) {
  if (op.event.tid != tids_.front() || !is_data_loader(op.name)) return;
  has_loader_ = true;
  loader_.push_back(op.interval);
  if (loader_.size() >= kMaxIntervals) distribute(loader_, &StepScalars::loader_ns);
}

void StepScalarsSink::on(const ResolvedSync& sync) {
  const std::uint32_t tid = sync.event.launch_tid != 0 ? sync.event.launch_tid : main_tid_;
  if (sync.event.type == kStreamWaitsForEvent || tid != tids_.front()) return;
  has_waits_ = true;
  waits_.push_back({sync.event.start_ns, sync.event.end_ns});
  if (waits_.size() >= kMaxIntervals) distribute(waits_, &StepScalars::wait_ns);
}

void StepScalarsSink::on(const model::Allocation& e) {
  StepScalars* const step = step_at(steps_, e.start_ns);
  const std::int32_t device = e.device_type == 0 ? -1 : e.device;
  std::vector<MemoryLevel>& levels = levels_[device];
  levels.resize(steps_.size());
  if (step == nullptr) return;
  MemoryLevel& last = levels[static_cast<std::size_t>(step - steps_.data())];
  if (e.start_ns >= last.at_ns)
    last = {e.start_ns, e.total_allocated_bytes, e.total_reserved_bytes};
  StepScalars::Memory& memory = step->memory[device];
  memory.allocated_peak_bytes = std::max(memory.allocated_peak_bytes, e.total_allocated_bytes);
  memory.reserved_peak_bytes = std::max(memory.reserved_peak_bytes, e.total_reserved_bytes);
}

/// What a step began with, too, is memory that was in use in it.
void StepScalarsSink::carry_memory() {
  for (auto& [device, levels] : levels_) {
    MemoryLevel before;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (before.at_ns != 0) {
        StepScalars::Memory& memory = steps_[i].memory[device];
        memory.allocated_peak_bytes = std::max(memory.allocated_peak_bytes, before.allocated_bytes);
        memory.reserved_peak_bytes = std::max(memory.reserved_peak_bytes, before.reserved_bytes);
      }
      if (levels[i].at_ns != 0) before = levels[i];
    }
  }
}

const std::vector<StepScalars>& StepScalarsSink::finish() {
  for (auto& [device, intervals] : busy_) distribute(intervals, &StepScalars::busy_ns);
  distribute(loader_, &StepScalars::loader_ns);
  distribute(waits_, &StepScalars::wait_ns);
  carry_memory();
  return steps_;
}

}  // namespace gpuprof::exporter
