// SPDX-License-Identifier: Apache-2.0
//
// What is switched on at CUPTI: activity kinds, API filters, API callbacks.
//
// Context:  worker | boundary, under the room's lock
// Owns:     nothing
#include <cstring>

#include "inject/cupti/callbacks/cbids.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/interpose/late.hpp"
#include "inject/cupti/live.hpp"
#include "inject/cupti/subscribe/room.hpp"
#include "inject/cupti/sentences.hpp"

namespace gpuprof::cupti {

namespace {

using wire::NoticeLevel;

struct KindRow {
  CUpti_ActivityKind kind;
  bool device_work;  // a record of work on the device
  bool dump;         // a snapshot of what exists already is wanted
  const char* what;  // in the sentence when it refuses
};

constexpr KindRow kKinds[] = {
    {CUPTI_ACTIVITY_KIND_DEVICE, false, true, "device properties"},
    {CUPTI_ACTIVITY_KIND_CONTEXT, false, true, "context information"},
    {CUPTI_ACTIVITY_KIND_STREAM, false, true, "stream information"},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, false, false, "profiling overhead"},
    {CUPTI_ACTIVITY_KIND_JIT, false, false, "just-in-time compilation"},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, false, false, "waits"},
    {CUPTI_ACTIVITY_KIND_MEMCPY, true, false, "copies"},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, true, false, "peer copies"},
    {CUPTI_ACTIVITY_KIND_MEMSET, true, false, "memory sets"},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true, false, "kernels"},
};
constexpr KindRow kGraphKind = {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, true, false, "graph launches"};

bool wanted_in_api(CallClass call_class) { return call_class != CallClass::kNone; }

bool switch_on(Room& room, const KindRow& row) {
  if ((room.kinds & kind_bit(row.kind)) != 0) return true;
  if (g_live.layout.of(row.kind) == 0) return false;
  const bool dump = row.dump && g_live.api.cuptiActivityEnableAndDump != nullptr;
  const CUptiResult result = dump ? g_live.api.cuptiActivityEnableAndDump(row.kind)
                                  : g_live.api.cuptiActivityEnable(row.kind);
  if (result == CUPTI_SUCCESS) {
    room.kinds |= kind_bit(row.kind);
    return true;
  }
  const char* text = nullptr;
  g_live.api.cuptiGetResultString(result, &text);
  if (row.device_work)
    say(NoticeLevel::kMissing, result, "No %s in the trace: CUPTI refused them (%d, %s).", row.what,
        static_cast<int>(result), text != nullptr ? text : "no description");
  return false;
}

void switch_off(Room& room, std::uint32_t kind) {
  if ((room.kinds & kind_bit(kind)) == 0) return;
  g_live.api.cuptiActivityDisable(static_cast<CUpti_ActivityKind>(kind));
  room.kinds &= ~kind_bit(kind);
}

// Functions newer than our headers are judged by what they are called.
CallClass class_by_name(const char* name) {
  struct Word {
    const char* part;
    CallClass call_class;
  };
  static constexpr Word kWords[] = {{"GraphLaunch", CallClass::kGraph},
                                    {"LaunchKernel", CallClass::kKernel},
                                    {"LaunchCooperative", CallClass::kKernel},
                                    {"Memcpy", CallClass::kWork},
                                    {"Memset", CallClass::kWork},
                                    {"Prefetch", CallClass::kWork},
                                    {"Synchronize", CallClass::kWait}};
  if (std::strstr(name, "GraphAdd") != nullptr || std::strstr(name, "Node") != nullptr)
    return CallClass::kNone;
  for (const Word& word : kWords)
    if (std::strstr(name, word.part) != nullptr) return word.call_class;
  return CallClass::kNone;
}

/// Calls f(domain, cbid, class) for each function of our list, and for those newer than it.
template <typename F>
void for_each_call(F f) {
  for (const CallId& call : kRuntimeCalls)
    f(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, call.call_class);
  for (const CallId& call : kDriverCalls) f(CUPTI_CB_DOMAIN_DRIVER_API, call.cbid, call.call_class);
  if (g_live.api.cuptiGetCallbackName == nullptr) return;
  const auto later = [&f](CUpti_CallbackDomain domain, std::uint32_t from) {
    const char* name = nullptr;
    for (std::uint32_t cbid = from; cbid < kMaxCbid; ++cbid) {
      if (g_live.api.cuptiGetCallbackName(domain, cbid, &name) != CUPTI_SUCCESS || name == nullptr)
        return;
      const CallClass call_class = class_by_name(name);
      if (call_class != CallClass::kNone) f(domain, cbid, call_class);
    }
  };
  later(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
  later(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
}

bool has_filters() {
  return g_live.api.cuptiActivityEnableRuntimeApi != nullptr &&
         g_live.api.cuptiActivityEnableDriverApi != nullptr;
}

void set_api_filters(Room& room, bool on) {
  for_each_call([on](CUpti_CallbackDomain domain, std::uint32_t cbid, CallClass call_class) {
    if (!wanted_in_api(call_class)) return;
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
      g_live.api.cuptiActivityEnableRuntimeApi(cbid, on ? 1 : 0);
    else
      g_live.api.cuptiActivityEnableDriverApi(cbid, on ? 1 : 0);
  });
  room.api_filters = on;
}

// Before CUDA 12.5 only the whole kind can be had; what we do not want is dropped when decoding.
void enable_api_records(Room& room) {
  if (has_filters()) {
    if (!room.api_filters) set_api_filters(room, true);
    return;
  }
  g_live.filter_api.store(true, std::memory_order_relaxed);
  switch_on(room, {CUPTI_ACTIVITY_KIND_RUNTIME, true, false, "CUDA runtime calls"});
  switch_on(room, {CUPTI_ACTIVITY_KIND_DRIVER, true, false, "CUDA driver calls"});
}

void set_node_budget() {
  // Observed elsewhere: device buffers are not given back under sustained graph replay, and
  // times become zero after pool limit x 100,000 records.
  constexpr std::uint64_t kRecordsPerBuffer = 100'000;
  std::size_t limit = 0, bytes = sizeof limit;
  const CUptiResult result = g_live.api.cuptiActivityGetAttribute(
      CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &limit);
  if (result != CUPTI_SUCCESS || limit == 0) limit = 250;
  g_live.node_budget.store(limit * kRecordsPerBuffer, std::memory_order_relaxed);
}

Wanted wanted_while_recording(const Room& room) {
  if (room.settings.calls) return Wanted::kRecording;
  return room.settings.kernel_steps ? Wanted::kKernelSteps : Wanted::kOff;
}

void callback_switch(Room& room, CUpti_CallbackDomain domain, std::uint32_t cbid, bool on) {
  g_live.api.cuptiEnableCallback(on ? 1 : 0, room.subscriber, domain, cbid);
}

// Kernel records that begin late had whole modules instrumented anew before CUDA 11.2: programs
// stood still for seconds.
bool may_stall(Room& room, const KindRow& row) {
  if (row.kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || !driver_is_late() ||
      !has_hazard(g_live.api.version, Hazard::kAttachInstruments))
    return false;
  if ((room.said & kSaidLateKernels) == 0)
    say(NoticeLevel::kMissing, 0,
        "No kernels in the trace: with CUPTI %u (before CUDA 11.2) switching them on in a running "
        "program can hold it up for seconds. Start the program under gpuprof run.",
        g_live.api.version);
  room.said |= kSaidLateKernels;
  return true;
}

}  // namespace

void enable_kinds(Room& room) {
  if (room.settings.graph_nodes)
    set_node_budget();
  else
    // First: it must be on before a graph is instantiated, and excludes records of its nodes.
    switch_on(room, kGraphKind);
  for (const KindRow& row : kKinds)
    if ((!room.budget_stopped || !row.device_work) && !may_stall(room, row)) switch_on(room, row);
  if (g_live.api.cuptiActivityEnableAllSyncRecords != nullptr)
    g_live.api.cuptiActivityEnableAllSyncRecords(0);
  // Last: enabling a whole kind erases per-function filters.
  follow_calls(room);
  g_live.kinds_kept.store(false, std::memory_order_relaxed);
}

void disable_kinds(Room& room) {
  if (room.api_filters) set_api_filters(room, false);
  const bool keep = has_hazard(g_live.api.version, Hazard::kKernelKindStays) &&
                    (room.kinds & kind_bit(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) != 0;
  for (std::uint32_t kind = 1; kind < 64; ++kind)
    if (!keep || kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) switch_off(room, kind);
  g_live.kinds_kept.store(keep, std::memory_order_relaxed);
  if (!keep || (room.said & kSaidKept) != 0) return;
  room.said |= kSaidKept;
  say(NoticeLevel::kInfo, 0,
      "Kernel records stay on between windows: below CUDA 13.0 Update 1 switching them off can "
      "block the program (CUPTI %u). They cost some time and are not recorded.",
      g_live.api.version);
}

// Where a kind once on had better stay on, its records are dropped as they come.
void follow_calls(Room& room) {
  g_live.drop_api.store(!room.settings.calls, std::memory_order_relaxed);
  if (room.settings.calls) return enable_api_records(room);
  if (has_hazard(g_live.api.version, Hazard::kKernelKindStays)) return;
  if (room.api_filters) set_api_filters(room, false);
  switch_off(room, CUPTI_ACTIVITY_KIND_RUNTIME);
  switch_off(room, CUPTI_ACTIVITY_KIND_DRIVER);
}

void stop_device_kinds(Room& room) {
  for (const KindRow& row : kKinds)
    if (row.device_work && (row.kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
                            !has_hazard(g_live.api.version, Hazard::kKernelKindStays)))
      switch_off(room, row.kind);
}

void set_callbacks(Room& room, Wanted asked) {
  const Wanted wanted = asked == Wanted::kRecording ? wanted_while_recording(room) : asked;
  if (room.callbacks == wanted) return;
  for_each_call(
      [&room, wanted](CUpti_CallbackDomain domain, std::uint32_t cbid, CallClass call_class) {
        const bool before =
            room.callbacks == Wanted::kRecording
                ? wants_callback(call_class)
                : room.callbacks == Wanted::kKernelSteps && call_class == CallClass::kKernel;
        const bool after = wanted == Wanted::kRecording
                               ? wants_callback(call_class)
                               : wanted == Wanted::kKernelSteps && call_class == CallClass::kKernel;
        if (before != after) callback_switch(room, domain, cbid, after);
      });
  room.callbacks = wanted;
}

}  // namespace gpuprof::cupti
