// SPDX-License-Identifier: Apache-2.0
//
// One table: counter, its name, and the loss it is, if it is one.
//
// Context:  daemon (ingest thread)
// Owns:     see stats_poller.hpp
#include "daemon/ingest/decode/stats_poller.hpp"

#include <string>

#include "daemon/ingest/decode/limits.hpp"

namespace gpuprof::ingest {

using model::LossReason;
using wire::Counter;

namespace {

constexpr LossReason kNoLoss = LossReason::kUnknown;
constexpr std::uint64_t kMostRateMhz = 1'000'000'000;

struct Row {
  Counter counter;
  const char* name;
  LossReason loss;
};

// Lane drops are counted by their lanes (ring_drops.hpp); bad GPU times by the records themselves.
constexpr Row kRows[] = {
    {Counter::kDroppedLaneFull, "dropped_ring_full", kNoLoss},
    {Counter::kDroppedNoLane, "dropped_no_ring", LossReason::kNoLane},
    {Counter::kDroppedTooLong, "dropped_too_long", LossReason::kTooLong},
    {Counter::kThreadsWithoutLane, "threads_without_ring", LossReason::kThreadNoLane},
    {Counter::kSamplesTaken, "samples_taken", kNoLoss},
    {Counter::kSamplesBlocked, "samples_blocked", kNoLoss},
    {Counter::kSamplesLateSignal, "samples_late_signal", kNoLoss},
    {Counter::kSamplesNoStackRoom, "samples_no_stack_room", LossReason::kSampleNoRoom},
    {Counter::kUnwindFaults, "unwind_faults", LossReason::kUnwindFault},
    {Counter::kUnwindTruncated, "unwind_truncated", kNoLoss},
    {Counter::kPythonFaults, "python_faults", LossReason::kPythonFault},
    {Counter::kPythonPartial, "python_partial", kNoLoss},
    {Counter::kStackTableFull, "stack_table_full", LossReason::kStackTableFull},
    {Counter::kThreadsMasked, "threads_masked", LossReason::kThreadMasked},
    {Counter::kThreadsNoTrigger, "threads_no_trigger", LossReason::kThreadNoTrigger},
    {Counter::kBlockedTorn, "blocked_torn", LossReason::kBlockedTorn},
    {Counter::kCuptiDropped, "cupti_dropped", LossReason::kCuptiDropped},
    {Counter::kCuptiBadTime, "cupti_bad_time", kNoLoss},
    {Counter::kCuptiIncomplete, "cupti_incomplete", kNoLoss},
    {Counter::kCuptiUnknownKind, "cupti_unknown_kind", LossReason::kCuptiUnknownKind},
    {Counter::kCuptiDiscardBuffer, "cupti_discard_buffer", LossReason::kCuptiNoBuffer},
    {Counter::kCuptiBuffers, "cupti_buffers", kNoLoss},
    {Counter::kCuptiRecords, "cupti_records", kNoLoss},
    {Counter::kCuptiAfterStop, "cupti_after_stop", kNoLoss},
    {Counter::kLaunchCallbacks, "launch_callbacks", kNoLoss},
    {Counter::kLastFlushMissed, "last_flush_missed", kNoLoss},
    {Counter::kMessagesUnsent, "messages_unsent", kNoLoss},
    {Counter::kFlushesMissed, "flushes_missed", kNoLoss},
    {Counter::kCuptiLateNs, "cupti_late_ns", kNoLoss},
    {Counter::kWaitsCutAgain, "waits_cut_again", kNoLoss},
    {Counter::kOtherCallsMissed, "other_calls_missed", kNoLoss},
    {Counter::kGraphNodesLeftOut, "graph_nodes_left_out", LossReason::kGraphNodeLeftOut},
    {Counter::kNvtxCalls, "nvtx_calls", kNoLoss},
    {Counter::kWorkerCpuNs, "worker_cpu_ns", kNoLoss},
    {Counter::kFlushes, "flushes", kNoLoss},
    {Counter::kGraphBudgetStops, "graph_budget_stops", kNoLoss},
    {Counter::kSamplesAtFork, "samples_at_fork", LossReason::kSampleAtFork},
    {Counter::kForksUnprepared, "forks_unprepared", kNoLoss},
    {Counter::kCuptiUnknownBytes, "cupti_unknown_bytes", LossReason::kCuptiUnknownBytes},
};
static_assert(std::size(kRows) == static_cast<std::size_t>(Counter::kCount),
              "a counter without a row");

struct KindRow {
  wire::Kind kind;
  const char* plural;
};

// Words of the summary's list of events, where the same thing is counted there.
constexpr KindRow kKindRows[] = {
    {wire::Kind::kStringDef, "names"},
    {wire::Kind::kStackDef, "stacks"},
    {wire::Kind::kPyCodeDef, "Python code objects"},
    {wire::Kind::kSample, "samples"},
    {wire::Kind::kStepMark, "step marks"},
    {wire::Kind::kOpBegin, "operator begins"},
    {wire::Kind::kOpEnd, "operator ends"},
    {wire::Kind::kInputsDef, "inputs of operators"},
    {wire::Kind::kAllocation, "allocations"},
    {wire::Kind::kTorchModuleDef, "modules"},
    {wire::Kind::kLoopDef, "loops"},
    {wire::Kind::kStackLoops, "loops of stacks"},
    {wire::Kind::kLoopMark, "loop marks"},
    {wire::Kind::kRangePush, "range begins"},
    {wire::Kind::kRangePop, "range ends"},
    {wire::Kind::kRangeStart, "start/end range begins"},
    {wire::Kind::kRangeEnd, "start/end range ends"},
    {wire::Kind::kMarkEvent, "marks"},
    {wire::Kind::kLaunch, "launches"},
    {wire::Kind::kApiCall, "API calls"},
    {wire::Kind::kKernelExec, "kernels"},
    {wire::Kind::kMemCopy, "memory copies"},
    {wire::Kind::kMemSet, "memory sets"},
    {wire::Kind::kSync, "synchronisations"},
    {wire::Kind::kOverhead, "overhead records"},
    {wire::Kind::kGraphExec, "graph launches"},
    {wire::Kind::kContextInfo, "contexts"},
    {wire::Kind::kStreamInfo, "streams"},
    {wire::Kind::kDeviceInfo, "devices"},
    {wire::Kind::kJit, "JIT records"},
    {wire::Kind::kKernelMark, "kernel marks"},
    {wire::Kind::kNameMatch, "name matches"},
    {wire::Kind::kClockSync, "clock readings"},
};

void write_fact(model::EventSink& sink, const char* name, std::uint64_t value) {
  const std::string key = std::string("stats.") + name;
  const std::string text = std::to_string(value);
  sink.on(model::Fact{key, text});
}

}  // namespace

void StatsPoller::keep() {
  if (kept_) return;
  kept_ = std::make_unique<wire::Stats>();
  const auto copy = [](std::atomic<std::uint64_t>& to, const std::atomic<std::uint64_t>& from) {
    to.store(from.load(std::memory_order_relaxed), std::memory_order_relaxed);
  };
  for (std::size_t i = 0; i < std::size(kept_->counters); ++i)
    copy(kept_->counters[i], stats_->counters[i]);
  for (std::size_t i = 0; i < std::size(kept_->dropped_of_kind); ++i)
    copy(kept_->dropped_of_kind[i], stats_->dropped_of_kind[i]);
  copy(kept_->state, stats_->state);
  copy(kept_->steps, stats_->steps);
  copy(kept_->sampler, stats_->sampler);
  copy(kept_->effective_rate_mhz, stats_->effective_rate_mhz);
  copy(kept_->heartbeat_ns, stats_->heartbeat_ns);
  copy(kept_->bye, stats_->bye);
  copy(kept_->parked, stats_->parked);
  stats_ = kept_.get();
}

std::uint64_t StatsPoller::raw(Counter which) const {
  return stats_->counters[static_cast<std::size_t>(which)].load(std::memory_order_relaxed);
}

std::uint64_t StatsPoller::value(Counter which) const {
  const std::uint64_t counted = raw(which);
  return counted <= kMostPlausibleCount ? counted : 0;
}

std::vector<std::pair<std::string, std::uint64_t>> StatsPoller::drops_by_kind() const {
  std::vector<std::pair<std::string, std::uint64_t>> drops;
  for (const KindRow& row : kKindRows) {
    const std::uint64_t count =
        stats_->dropped_of_kind[static_cast<std::size_t>(row.kind)].load(std::memory_order_relaxed);
    if (count != 0 && count <= kMostPlausibleCount) drops.emplace_back(row.plural, count);
  }
  return drops;
}

std::uint64_t StatsPoller::lost_marks() const {
  std::uint64_t lost = 0;
  for (const auto kind : {wire::Kind::kStepMark, wire::Kind::kLoopMark, wire::Kind::kKernelMark}) {
    const std::uint64_t count =
        stats_->dropped_of_kind[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
    lost += count <= kMostPlausibleCount ? count : 0;
  }
  return lost;
}

std::uint64_t StatsPoller::rate_mhz() const {
  const std::uint64_t rate = stats_->effective_rate_mhz.load(std::memory_order_relaxed);
  return rate <= kMostRateMhz ? rate : 0;
}

void StatsPoller::poll(LossBook& losses) {
  for (const Row& row : kRows) {
    std::uint64_t& last = last_[static_cast<std::size_t>(row.counter)];
    const std::uint64_t now = raw(row.counter);
    if ((row.loss != kNoLoss && now > last) || now > kMostPlausibleCount)
      losses.add(row.loss, 0, now - last, 0, 0);
    last = now;
  }
}

void StatsPoller::write_facts(model::EventSink& sink) const {
  for (const Row& row : kRows) write_fact(sink, row.name, value(row.counter));
  for (const auto& [what, count] : drops_by_kind())
    write_fact(sink, ("dropped_ring_full." + what).c_str(), count);
  write_fact(sink, "sampler", stats_->sampler.load(std::memory_order_relaxed));
  write_fact(sink, "effective_rate_mhz", rate_mhz());
  write_fact(sink, "steps", stats_->steps.load(std::memory_order_relaxed));
}

}  // namespace gpuprof::ingest
