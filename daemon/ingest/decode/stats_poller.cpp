// SPDX-License-Identifier: Apache-2.0
//
// One table: counter, its name, and the loss it is, if it is one.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/decode/stats_poller.hpp"

#include <string>

#include "daemon/ingest/decode/limits.hpp"

namespace gpuprof::ingest {

using model::LossReason;
using wire::Counter;

namespace {

constexpr LossReason kNoLoss = LossReason::kUnknown;
constexpr std::uint64_t kMaxRateMhz = 1'000'000'000;

struct Row {
  Counter counter;
  const char* name;
  LossReason loss;
};

// Ring buffer drops are counted by their ring buffers (ring_drops.hpp); bad GPU times by the
// records themselves.
constexpr Row kRows[] = {
    {Counter::kDroppedRingFull, "dropped_ring_full", kNoLoss},
    {Counter::kDroppedNoRing, "dropped_no_ring", LossReason::kNoRing},
    {Counter::kDroppedTooLong, "dropped_too_long", LossReason::kTooLong},
    {Counter::kThreadsWithoutRing, "threads_without_ring", LossReason::kThreadNoRing},
    {Counter::kSamplesTaken, "samples_taken", kNoLoss},
    {Counter::kSamplesBlocked, "samples_blocked", kNoLoss},
    {Counter::kSamplesWhileOff, "samples_late_signal", kNoLoss},
    {Counter::kSamplesNoStackRoom, "samples_no_stack_room", LossReason::kSampleNoRoom},
    {Counter::kUnwindFaults, "unwind_faults", LossReason::kUnwindFault},
    {Counter::kUnwindTruncated, "unwind_truncated", kNoLoss},
    {Counter::kPythonFaults, "python_faults", LossReason::kPythonFault},
    {Counter::kPythonPartial, "python_partial", kNoLoss},
    {Counter::kStackTableFull, "stack_table_full", LossReason::kStackTableFull},
    {Counter::kThreadsBlockingSignal, "threads_masked", LossReason::kThreadMasked},
    {Counter::kThreadsNoTrigger, "threads_no_trigger", LossReason::kThreadNoTrigger},
    {Counter::kBlockedTorn, "blocked_torn", LossReason::kBlockedTorn},
    {Counter::kCuptiDropped, "cupti_dropped", LossReason::kCuptiDropped},
    {Counter::kCuptiBadTimestamp, "cupti_bad_time", kNoLoss},
    {Counter::kCuptiIncomplete, "cupti_incomplete", kNoLoss},
    {Counter::kCuptiUnknownKind, "cupti_unknown_kind", LossReason::kCuptiUnknownKind},
    {Counter::kCuptiNoBuffer, "cupti_discard_buffer", LossReason::kCuptiNoBuffer},
    {Counter::kCuptiBuffers, "cupti_buffers", kNoLoss},
    {Counter::kCuptiRecords, "cupti_records", kNoLoss},
    {Counter::kCuptiAfterStop, "cupti_after_stop", kNoLoss},
    {Counter::kLaunchCallbacks, "launch_callbacks", kNoLoss},
    {Counter::kFinalFlushTimedOut, "last_flush_missed", kNoLoss},
    {Counter::kMessagesUnsent, "messages_unsent", kNoLoss},
    {Counter::kFlushTimeouts, "flushes_missed", kNoLoss},
    {Counter::kCuptiEnableDelayNs, "cupti_late_ns", kNoLoss},
    {Counter::kWaitsInterruptedAgain, "waits_cut_again", kNoLoss},
    {Counter::kProgramCuptiCallsMissed, "other_calls_missed", kNoLoss},
    {Counter::kGraphNodesSkipped, "graph_nodes_left_out", LossReason::kGraphNodeSkipped},
    {Counter::kNvtxCalls, "nvtx_calls", kNoLoss},
    {Counter::kWorkerCpuNs, "worker_cpu_ns", kNoLoss},
    {Counter::kFlushes, "flushes", kNoLoss},
    {Counter::kGraphBudgetStops, "graph_budget_stops", kNoLoss},
    {Counter::kSamplesDuringFork, "samples_at_fork", LossReason::kSampleAtFork},
    {Counter::kForksWithoutPause, "forks_unprepared", kNoLoss},
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
    {wire::Kind::kNvtxMark, "marks"},
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
    {wire::Kind::kUnmatchedLaunch, "kernel marks"},
    {wire::Kind::kKernelNameMatch, "name matches"},
    {wire::Kind::kClockSync, "clock readings"},
};

void write_fact(model::EventSink& sink, const char* name, std::uint64_t value) {
  const std::string key = std::string("stats.") + name;
  const std::string text = std::to_string(value);
  sink.on(model::Fact{key, text});
}

}  // namespace

void StatsPoller::take_snapshot() {
  if (snapshot_) return;
  snapshot_ = std::make_unique<wire::Stats>();
  const auto copy = [](std::atomic<std::uint64_t>& to, const std::atomic<std::uint64_t>& from) {
    to.store(from.load(std::memory_order_relaxed), std::memory_order_relaxed);
  };
  for (std::size_t i = 0; i < std::size(snapshot_->counters); ++i)
    copy(snapshot_->counters[i], stats_->counters[i]);
  for (std::size_t i = 0; i < std::size(snapshot_->dropped_of_kind); ++i)
    copy(snapshot_->dropped_of_kind[i], stats_->dropped_of_kind[i]);
  copy(snapshot_->state, stats_->state);
  copy(snapshot_->steps, stats_->steps);
  copy(snapshot_->sampler, stats_->sampler);
  copy(snapshot_->effective_rate_mhz, stats_->effective_rate_mhz);
  copy(snapshot_->heartbeat_ns, stats_->heartbeat_ns);
  copy(snapshot_->bye, stats_->bye);
  copy(snapshot_->parked, stats_->parked);
  stats_ = snapshot_.get();
}

std::uint64_t StatsPoller::raw(Counter which) const {
  return stats_->counters[static_cast<std::size_t>(which)].load(std::memory_order_relaxed);
}

std::uint64_t StatsPoller::value(Counter which) const {
  const std::uint64_t counted = raw(which);
  return counted <= kMaxPlausibleCount ? counted : 0;
}

std::vector<std::pair<std::string, std::uint64_t>> StatsPoller::drops_by_kind() const {
  std::vector<std::pair<std::string, std::uint64_t>> drops;
  for (const KindRow& row : kKindRows) {
    const std::uint64_t count =
        stats_->dropped_of_kind[static_cast<std::size_t>(row.kind)].load(std::memory_order_relaxed);
    if (count != 0 && count <= kMaxPlausibleCount) drops.emplace_back(row.plural, count);
  }
  return drops;
}

std::uint64_t StatsPoller::dropped_marks() const {
  std::uint64_t lost = 0;
  for (const auto kind :
       {wire::Kind::kStepMark, wire::Kind::kLoopMark, wire::Kind::kUnmatchedLaunch}) {
    const std::uint64_t count =
        stats_->dropped_of_kind[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
    lost += count <= kMaxPlausibleCount ? count : 0;
  }
  return lost;
}

std::uint64_t StatsPoller::rate_millihertz() const {
  const std::uint64_t rate = stats_->effective_rate_mhz.load(std::memory_order_relaxed);
  return rate <= kMaxRateMhz ? rate : 0;
}

void StatsPoller::poll(LossCounters& losses) {
  for (const Row& row : kRows) {
    std::uint64_t& last = last_[static_cast<std::size_t>(row.counter)];
    const std::uint64_t now = raw(row.counter);
    if ((row.loss != kNoLoss && now > last) || now > kMaxPlausibleCount)
      losses.add(row.loss, 0, now - last, 0, 0);
    last = now;
  }
}

void StatsPoller::write_facts(model::EventSink& sink) const {
  for (const Row& row : kRows) write_fact(sink, row.name, value(row.counter));
  for (const auto& [what, count] : drops_by_kind())
    write_fact(sink, ("dropped_ring_full." + what).c_str(), count);
  write_fact(sink, "sampler", stats_->sampler.load(std::memory_order_relaxed));
  write_fact(sink, "effective_rate_mhz", rate_millihertz());
  write_fact(sink, "steps", stats_->steps.load(std::memory_order_relaxed));
}

}  // namespace gpuprof::ingest
