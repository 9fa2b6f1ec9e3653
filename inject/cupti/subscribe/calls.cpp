// SPDX-License-Identifier: Apache-2.0
//
// See calls.hpp.
//
// Context:  worker | boundary, under the room's lock
// Owns:     nothing
#include "inject/cupti/subscribe/calls.hpp"

#include "inject/cupti/activity/flusher.hpp"
#include "inject/cupti/callbacks/call_list.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/live.hpp"
#include "inject/cupti/sentences.hpp"
#include "inject/cupti/subscribe/kinds.hpp"

namespace gpuprof::cupti {

namespace {

constexpr std::uint64_t kSilentNs = 500'000'000;

bool has_filters() {
  return g_live.api.cuptiActivityEnableRuntimeApi != nullptr &&
         g_live.api.cuptiActivityEnableDriverApi != nullptr;
}

void set_filters(bool on) {
  for_each_call([on](CUpti_CallbackDomain domain, std::uint32_t cbid, CallClass) {
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
      g_live.api.cuptiActivityEnableRuntimeApi(cbid, on ? 1 : 0);
    else
      g_live.api.cuptiActivityEnableDriverApi(cbid, on ? 1 : 0);
  });
}

// Filters make the fewest records. Measured with CUPTI 13.0.1: one that comes once CUDA is up is
// taken, and delivers nothing; whole kinds do at any time.
Calls best_way(const Room& room) {
  if (!has_filters()) return Calls::kKinds;
  if (room.call_watch.kinds_deaf && !room.call_watch.filters_deaf) return Calls::kFilters;
  return cuda_begins() && !room.call_watch.filters_deaf ? Calls::kFilters : Calls::kKinds;
}

void switch_calls_on(Room& room, Calls way) {
  if (room.calls == way) return;
  // What is not wanted of whole kinds is dropped when decoding. Refused, filters may do.
  const bool said = !has_filters();
  if (way == Calls::kKinds) {
    const bool runtime =
        switch_on(room, {CUPTI_ACTIVITY_KIND_RUNTIME, said, false, "CUDA runtime calls"});
    const bool driver =
        switch_on(room, {CUPTI_ACTIVITY_KIND_DRIVER, said, false, "CUDA driver calls"});
    if (!runtime && !driver && has_filters()) way = Calls::kFilters;
  }
  if (way == Calls::kFilters) set_filters(true);
  g_live.filter_api.store(way == Calls::kKinds, std::memory_order_relaxed);
  room.calls = way;
}

void forget_silence(CallWatch& watch, std::uint64_t runs, std::uint64_t records) {
  watch.runs_at = runs;
  watch.records_at = records;
  watch.since_ns = 0;
}

void go_the_other_way(Room& room) {
  CallWatch& watch = room.call_watch;
  (room.calls == Calls::kFilters ? watch.filters_deaf : watch.kinds_deaf) = true;
  const bool none_left = watch.filters_deaf && watch.kinds_deaf;
  calls_off(room);
  switch_calls_on(room, best_way(room));
  state_fact("cupti_calls", "%s",
             none_left                       ? "neither filters nor whole kinds deliver records"
             : room.calls == Calls::kFilters ? "filters: whole kinds delivered no record"
                                             : "whole kinds: filters delivered no record");
}

}  // namespace

void calls_off(Room& room) {
  if (room.calls == Calls::kFilters) set_filters(false);
  switch_off(room, CUPTI_ACTIVITY_KIND_RUNTIME);
  switch_off(room, CUPTI_ACTIVITY_KIND_DRIVER);
  room.calls = Calls::kOff;
}

// Where a kind once on had better stay on, its records are dropped as they come.
void follow_calls(Room& room) {
  g_live.drop_api.store(!room.settings.calls, std::memory_order_relaxed);
  if (room.settings.calls) {
    if (room.calls == Calls::kOff) switch_calls_on(room, best_way(room));
    return;
  }
  if (!has_hazard(g_live.api.version, Hazard::kKernelKindStays)) calls_off(room);
}

void watch_calls(Room& room, std::uint64_t now_ns) {
  CallWatch& watch = room.call_watch;
  const std::uint64_t runs = g_live.runs.load(std::memory_order_relaxed);
  const std::uint64_t records = g_live.call_records.load(std::memory_order_relaxed);
  const std::uint64_t others = g_live.other_records.load(std::memory_order_relaxed);
  const bool watched = room.recording && room.calls != Calls::kOff && has_filters() &&
                       !(watch.filters_deaf && watch.kinds_deaf);
  if (!watched || records != watch.records_at || runs == watch.runs_at) {
    watch.others_at = others;
    return forget_silence(watch, runs, records);
  }
  if (watch.since_ns == 0) {
    watch.since_ns = now_ns;
    watch.flush_at = flushes_asked();
    watch.others_at = others;
  }
  // Asked for after the launch, and ended: it brought other records, and none of a call.
  const bool flushed = static_cast<std::int32_t>(flushes_done() - watch.flush_at) > 0;
  const bool answered = flushed && others != watch.others_at;
  if (!answered || elapsed_ns(now_ns, watch.since_ns) < kSilentNs) return;
  go_the_other_way(room);
  forget_silence(watch, runs, records);
}

}  // namespace gpuprof::cupti
