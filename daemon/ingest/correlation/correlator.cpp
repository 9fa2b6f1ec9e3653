// SPDX-License-Identifier: Apache-2.0
//
// Joining by correlation id, a round after the record came.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/correlation/correlator.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

namespace gpuprof::ingest {

using model::LossReason;

namespace {

constexpr std::uint16_t kKernelBadTime = wire::kGpuBadTime;
constexpr std::uint8_t kCopyAsync = 1, kCopyBadTime = 2;
constexpr std::uint16_t kSetBadTime = 2;
/// A driver call whose runtime call was announced but has not come waits this many rounds.
constexpr std::uint32_t kMaxRounds = 8;
/// GPU work whose call comes as a record too waits this many for it: CUPTI's buffers of calls and
/// of work are delivered each in its own time, the last of them at the next flush.
constexpr std::uint32_t kMaxRoundsForCall = 16;
/// A second without a record of a call: none is waited for any more.
constexpr std::uint32_t kRecordRounds = 200;
/// A fifth of a second: then another reading is not to be expected, and the clock is used as known.
constexpr std::uint32_t kMaxStalledRounds = 40;
/// One takes what came, one joins it, and one is spare.
constexpr std::uint32_t kHurriedRounds = 3;
constexpr auto kRuntime = static_cast<std::uint32_t>(wire::ApiDomain::kRuntime);

}  // namespace

bool Correlator::good_times(std::uint64_t start_ns, std::uint64_t end_ns, bool flagged) {
  if (!flagged && start_ns != 0 && end_ns != 0 && end_ns >= start_ns) return true;
  const bool runs_on = start_ns != 0 && end_ns == 0;
  losses_.add(runs_on ? LossReason::kCuptiIncomplete : LossReason::kCuptiBadTime, 0, 1, 0, 0);
  return false;
}

/// False: the process did not run then, or no rate of its clock is known; counted.
bool Correlator::convert(TimeSpan* times, ReadingPosition place, const TimeBounds& bounds) {
  if (!clocks_.to_mono(times, place, bounds)) {
    losses_.add(LossReason::kGpuNoClock, 0, 1, 0, 0);
    return false;
  }
  if (life_.contains(times->start_ns, times->end_ns)) return true;
  losses_.add(LossReason::kTimeImplausible, 0, 1, 0, 0);
  return false;
}

/// Calls without a callback of their own lie between their neighbours. That matters only where
/// more than one clock is possible.
TimeBounds Correlator::bounds_of(std::uint32_t correlation, const LaunchEntry* launch) {
  if (launch != nullptr && (launch->flags & kLaunchSeen) != 0) return TimeBounds{launch->ts_ns};
  TimeBounds bounds{life_.from_ns};
  if (correlation == 0 || clocks_.segments().size() < 2) return bounds;
  const std::uint64_t before_ns = launches_.neighbour_ns(correlation, -1);
  bounds.earliest_start_ns = std::max(bounds.earliest_start_ns, before_ns);
  return bounds;
}

void Correlator::add(const wire::ApiCall& call, ReadingPosition place) {
  if ((call.flags & wire::kApiMonotonicClock) != 0) return correlate_own_call(call);
  record_rounds_ = kRecordRounds;
  api_.push_back({call, place, 0});
}

void Correlator::add(const wire::KernelExec& kernel, ReadingPosition place) {
  if (good_times(kernel.start_ns, kernel.end_ns, (kernel.flags & kKernelBadTime) != 0))
    return kernels_.push_back({kernel, place});
  // It is reported as what it is, and not as silence.
  if (LaunchEntry* launch = launches_.find(kernel.correlation)) launches_.ran(*launch, false);
}
void Correlator::add(const wire::MemCopy& copy, ReadingPosition place) {
  if (good_times(copy.start_ns, copy.end_ns, (copy.flags & kCopyBadTime) != 0))
    copies_.push_back({copy, place});
}
void Correlator::add(const wire::MemSet& set, ReadingPosition place) {
  if (good_times(set.start_ns, set.end_ns, (set.flags & kSetBadTime) != 0))
    sets_.push_back({set, place});
}
void Correlator::add(const wire::Sync& sync, ReadingPosition place) {
  if (good_times(sync.start_ns, sync.end_ns, false)) syncs_.push_back({sync, place});
}
void Correlator::add(const wire::GraphExec& graph, ReadingPosition place) {
  if (good_times(graph.start_ns, graph.end_ns, false)) graphs_.push_back({graph, place});
}
void Correlator::add(const wire::Overhead& overhead, ReadingPosition place) {
  if (good_times(overhead.start_ns, overhead.end_ns, false))
    overheads_.push_back({overhead, place});
}

/// How many of the ripe ones need not wait for another clock reading. Places never fall within a
/// queue.
template <typename Q>
std::size_t Correlator::ready_count(const Q& queue, std::size_t aged) {
  if (hurried_rounds_ != 0 || aged == 0 || clocks_.is_settled(queue[aged - 1].place)) return aged;
  stalled_ = true;
  const auto end = queue.begin() + static_cast<std::ptrdiff_t>(aged);
  const auto waits = std::partition_point(queue.begin(), end, [this](const auto& waiting) {
    return clocks_.is_settled(waiting.place);
  });
  return static_cast<std::size_t>(waits - queue.begin());
}

bool Correlator::awaits_its_call(std::uint32_t correlation, std::uint32_t rounds) const {
  return correlation != 0 && record_rounds_ != 0 && hurried_rounds_ == 0 &&
         rounds < kMaxRoundsForCall;
}

template <typename R>
void Correlator::release(std::vector<Pending<R>>& queue, std::size_t aged) {
  aged = ready_count(queue, aged);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < aged; ++i) {
    const auto& [record, place, rounds] = queue[i];
    LaunchEntry* launch = launches_.find(record.correlation);
    constexpr bool kIsKernel = std::is_same_v<R, wire::KernelExec>;
    constexpr bool kOnHost = std::is_same_v<R, wire::Sync> || std::is_same_v<R, wire::Overhead>;
    if (!kOnHost && launch == nullptr && awaits_its_call(record.correlation, rounds)) {
      queue[kept++] = {record, place, rounds + 1};
      continue;
    }
    bool alone = false;
    if constexpr (kIsKernel) alone = record.graph_node == 0;
    if (launch != nullptr && !kOnHost) launches_.ran(*launch, alone);
    TimeSpan times{record.start_ns, record.end_ns};
    if (convert(&times, place, bounds_of(record.correlation, launch))) emit(record, launch, times);
  }
  queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(kept),
              queue.begin() + static_cast<std::ptrdiff_t>(aged));
}

void Correlator::release_all(bool last) {
  stalled_ = false;
  correlate_calls(aged_.api, last);
  release(kernels_, aged_.kernels);
  release(copies_, aged_.copies);
  release(sets_, aged_.sets);
  release(syncs_, aged_.syncs);
  release(graphs_, aged_.graphs);
  release(overheads_, aged_.overheads);
  stalled_rounds_ = stalled_ ? stalled_rounds_ + 1 : 0;
}

void Correlator::round_done() {
  if (stalled_rounds_ >= kMaxStalledRounds) hurried_rounds_ = std::max(hurried_rounds_, 1u);
  if (clocks_.known()) release_all(false);
  if (hurried_rounds_ != 0) --hurried_rounds_;
  if (record_rounds_ != 0) --record_rounds_;
  aged_ = AgedCounts{api_.size(),   kernels_.size(), copies_.size(),   sets_.size(),
                     syncs_.size(), graphs_.size(),  overheads_.size()};
}

void Correlator::hurry() { hurried_rounds_ = kHurriedRounds; }

void Correlator::finish() {
  hurry();
  round_done();
  round_done();
  if (clocks_.known()) return correlate_calls(api_.size(), true);
  losses_.add(LossReason::kGpuNoClock, 0,
              api_.size() + kernels_.size() + copies_.size() + sets_.size() + syncs_.size() +
                  graphs_.size() + overheads_.size(),
              0, 0);
}

// Runtime calls first: the driver's call inside one carries the same id and is left out.
void Correlator::correlate_calls(std::size_t aged, bool last) {
  aged = ready_count(api_, aged);
  for (std::size_t i = 0; i < aged; ++i)
    if (api_[i].record.api == kRuntime) correlate_call(api_[i], false);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < aged; ++i) {
    PendingCall& held = api_[i];
    if (held.record.api == kRuntime) continue;
    if (!correlate_call(held, !last && held.rounds < kMaxRounds)) {
      ++held.rounds;
      api_[kept++] = held;
    }
  }
  api_.erase(api_.begin() + static_cast<std::ptrdiff_t>(kept),
             api_.begin() + static_cast<std::ptrdiff_t>(aged));
}

/// False: not yet, its outer call is still expected.
bool Correlator::correlate_call(const PendingCall& held, bool wait) {
  const wire::ApiCall& call = held.record;
  LaunchEntry* entry =
      call.correlation != 0 ? &launches_.find_or_add(call.correlation, call.tid) : nullptr;
  if (entry != nullptr) {
    if ((entry->flags & kLaunchApiOut) != 0) {
      // Where our callbacks stayed away for a time both may tell of one.
      if ((entry->flags & kLaunchOwnCall) == 0)
        losses_.add(LossReason::kDuplicateCall, call.tid, 1, 0, 0);
      return true;
    }
    if (wait && call.api != kRuntime && (entry->flags & kLaunchSeen) != 0 && entry->api == kRuntime)
      return false;
    launches_.called(*entry, call.result != 0);
  }
  TimeSpan times{};
  if (good_times(call.start_ns, call.end_ns, false) && times_of(held, entry, &times))
    write_call(call, entry, times);
  return true;
}

// It stands behind its launch in one ring buffer, on our clock, and is the outermost one: nothing
// more is to come.
void Correlator::correlate_own_call(const wire::ApiCall& call) {
  LaunchEntry& entry = launches_.find_or_add(call.correlation, call.tid);
  if ((entry.flags & kLaunchApiOut) != 0) return;
  entry.flags |= kLaunchOwnCall;
  launches_.called(entry, call.result != 0);
  if (!life_.contains(call.start_ns, call.end_ns))
    return losses_.add(LossReason::kTimeImplausible, 0, 1, 0, 0);
  write_call(call, &entry, {call.start_ns, call.end_ns});
}

bool Correlator::times_of(const PendingCall& held, const LaunchEntry* entry, TimeSpan* times) {
  const wire::ApiCall& call = held.record;
  TimeBounds bounds = bounds_of(call.correlation, entry);
  if (entry != nullptr && (entry->flags & kLaunchSeen) != 0) {
    // The callback comes in the midst of its call, long after the begin if others ran meanwhile.
    if (entry->api == call.api) bounds = {life_.from_ns, entry->ts_ns, entry->ts_ns};
  } else if (call.correlation != 0 && clocks_.segments().size() > 1) {
    const std::uint64_t after_ns = launches_.neighbour_ns(call.correlation, 1);
    if (after_ns != 0) bounds.latest_start_ns = after_ns;
  }
  *times = {call.start_ns, call.end_ns};
  return convert(times, held.place, bounds);
}

void Correlator::write_call(const wire::ApiCall& call, LaunchEntry* entry, const TimeSpan& times) {
  model::ApiCall event{};
  if (entry != nullptr && (entry->flags & kLaunchSeen) != 0) {
    event.range = entry->range, event.stack = entry->stack;
  } else {
    // Two clocks agree to a microsecond or so: the middle is inside what the call is inside.
    event.range = owners_.at(call.tid, std::midpoint(times.start_ns, times.end_ns));
    if (entry != nullptr) entry->ts_ns = times.start_ns, entry->range = event.range;
  }
  event.start_ns = times.start_ns;
  event.end_ns = times.end_ns;
  event.name = names_.string(call.name_id);
  event.tid = call.tid;
  event.cbid = call.cbid;
  event.api = call.api;
  event.correlation = call.correlation;
  event.result = call.result;
  names_.resolve_string(event.name);
  names_.resolve_stack(event.stack);
  ++counts_.api_calls;
  sink_.on(event);
}

/// What GPU records have in common: times on our clock, the launch, the place.
template <typename E, typename R>
E Correlator::make_event(const R& record, const LaunchEntry* launch, const TimeSpan& times) {
  E event{};
  event.start_ns = times.start_ns;
  event.end_ns = times.end_ns;
  event.correlation = record.correlation;
  if (launch != nullptr)
    event.range = launch->range, event.launch_tid = launch->tid;
  else
    ++counts_.launches_unseen;
  event.context = record.context, event.stream = record.stream;
  if constexpr (requires { event.device; }) event.device = record.device;
  if constexpr (requires { event.graph; }) event.graph = record.graph;
  if constexpr (requires { event.graph_node; }) event.graph_node = record.graph_node;
  ++counts_.gpu_events;
  return event;
}

void Correlator::emit(const wire::KernelExec& k, const LaunchEntry* launch, const TimeSpan& times) {
  auto event = make_event<model::Kernel>(k, launch, times);
  event.name = names_.string(k.name_id);
  event.grid = {k.grid_x, k.grid_y, k.grid_z};
  event.block = {k.block_x, k.block_y, k.block_z};
  event.static_shared_bytes = k.static_shared_bytes;
  event.dynamic_shared_bytes = k.dynamic_shared_bytes;
  event.local_per_thread_bytes = k.local_per_thread_bytes;
  event.shared_executed_bytes = k.shared_executed_bytes;
  event.registers = k.registers;
  event.channel = k.channel;
  names_.resolve_string(event.name);
  if (launch != nullptr && event.start_ns < launch->ts_ns) ++counts_.kernels_before_launch;
  sink_.on(event);
}

void Correlator::emit(const wire::MemCopy& c, const LaunchEntry* launch, const TimeSpan& times) {
  auto event = make_event<model::MemCopy>(c, launch, times);
  event.bytes = c.bytes;
  event.dst_device = c.dst_device;
  event.copy_kind = c.copy_kind, event.src_kind = c.src_kind, event.dst_kind = c.dst_kind;
  event.asynchronous = (c.flags & kCopyAsync) != 0 ? 1 : 0;
  sink_.on(event);
}

void Correlator::emit(const wire::MemSet& m, const LaunchEntry* launch, const TimeSpan& times) {
  auto event = make_event<model::MemSet>(m, launch, times);
  event.bytes = m.bytes;
  event.value = m.value;
  event.memory_kind = m.memory_kind;
  sink_.on(event);
}

void Correlator::emit(const wire::Sync& s, const LaunchEntry* launch, const TimeSpan& times) {
  auto event = make_event<model::Sync>(s, launch, times);
  event.type = s.type;
  event.event = s.event;
  constexpr std::uint32_t kStream = 3, kContext = 4;  // CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_…
  if (s.type == kContext) launches_.answers().on_context_sync(event.start_ns);
  if (s.type == kStream) launches_.answers().on_stream_sync(event.start_ns);
  sink_.on(event);
}

void Correlator::emit(const wire::GraphExec& g, const LaunchEntry* launch, const TimeSpan& times) {
  sink_.on(make_event<model::GraphExec>(g, launch, times));
}

void Correlator::emit(const wire::Overhead& o, const LaunchEntry*, const TimeSpan& times) {
  sink_.on(model::Overhead{times.start_ns, times.end_ns, o.overhead_kind, o.object_kind,
                           o.process_or_thread, o.correlation});
}

}  // namespace gpuprof::ingest
