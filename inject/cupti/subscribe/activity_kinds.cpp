// SPDX-License-Identifier: Apache-2.0
//
// What is switched on at CUPTI: activity kinds and API callbacks.
//
// Context:  worker | boundary, under the component's lock
// Owns:     nothing
#include "inject/cupti/subscribe/activity_kinds.hpp"
#include "gpuprof/base/clock.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/call_list.hpp"
#include "inject/cupti/interpose/late_attach.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/notice_queue.hpp"
#include "inject/cupti/subscribe/api_kinds.hpp"
#include "inject/cupti/subscribe/attributes.hpp"
#include "inject/hot/state.hpp"
#include "inject/messages/cupti.hpp"

namespace gpuprof::cupti {

namespace {

using wire::NoticeLevel;

constexpr KindRow kKinds[] = {
    {CUPTI_ACTIVITY_KIND_DEVICE, false, true, "device properties"},
    {CUPTI_ACTIVITY_KIND_CONTEXT, false, true, "context information"},
    {CUPTI_ACTIVITY_KIND_STREAM, false, true, "stream information"},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, false, false, "profiling overhead"},
    {CUPTI_ACTIVITY_KIND_JIT, false, false, "just-in-time compilation"},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, false, false, "synchronisations"},
    {CUPTI_ACTIVITY_KIND_MEMCPY, true, false, "memory copies"},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, true, false, "peer-to-peer copies"},
    {CUPTI_ACTIVITY_KIND_MEMSET, true, false, "memory sets"},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true, false, "kernels"},
};
constexpr KindRow kGraphKind = {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, true, false, "graph launches"};

void set_node_budget() {
  // Observed elsewhere: device buffers are not given back under sustained graph replay, and
  // times become zero after pool limit x 100,000 records.
  constexpr std::uint64_t kRecordsPerBuffer = 100'000;
  std::size_t limit = 0, bytes = sizeof limit;
  const CUptiResult result = g_callback_state.api.cuptiActivityGetAttribute(
      CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &limit);
  if (result != CUPTI_SUCCESS || limit == 0) limit = 250;
  g_callback_state.node_budget.store(limit * kRecordsPerBuffer, std::memory_order_relaxed);
}

Mode wanted_while_recording(const CuptiState& state) {
  if (state.settings.calls) return Mode::kRecording;
  return state.settings.kernel_steps ? Mode::kKernelSteps : Mode::kOff;
}

bool is_graph_api(CallClass call_class) {
  return call_class == CallClass::kGraph || call_class == CallClass::kCapture ||
         call_class == CallClass::kCaptureEnd;
}

bool is_on(Mode wanted, CallClass call_class) {
  return wanted == Mode::kRecording ||
         (wanted == Mode::kKernelSteps && call_class == CallClass::kKernel) ||
         (wanted == Mode::kGraphSteps && is_graph_api(call_class));
}

void callback_switch(CuptiState& state, CUpti_CallbackDomain domain, std::uint32_t cbid, bool on) {
  g_callback_state.api.cuptiEnableCallback(on ? 1 : 0, state.subscriber, domain, cbid);
}

// Kernel records that begin late had whole modules instrumented anew before CUDA 11.2: programs
// stood still for seconds.
bool may_stall(CuptiState& state, const KindRow& row) {
  if (row.kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || !driver_is_late() ||
      !has_hazard(g_callback_state.api.version, Hazard::kAttachInstruments))
    return false;
  if ((state.sent_notices & kReportedLateKernels) == 0)
    queue_notice(NoticeLevel::kMissing, 0, messages::cupti::kNoKernels,
                 g_callback_state.api.version);
  state.sent_notices |= kReportedLateKernels;
  return true;
}

}  // namespace

bool enable_kind(CuptiState& state, const KindRow& row) {
  if ((state.kinds & kind_bit(row.kind)) != 0) return true;
  if (g_callback_state.layout.of(row.kind) == 0) return false;
  const bool dump = row.dump && g_callback_state.api.cuptiActivityEnableAndDump != nullptr;
  const CUptiResult result = dump ? g_callback_state.api.cuptiActivityEnableAndDump(row.kind)
                                  : g_callback_state.api.cuptiActivityEnable(row.kind);
  if (result == CUPTI_SUCCESS) {
    state.kinds |= kind_bit(row.kind);
    return true;
  }
  const char* text = nullptr;
  g_callback_state.api.cuptiGetResultString(result, &text);
  if (row.device_work)
    queue_notice(NoticeLevel::kMissing, result, messages::cupti::kKindRefused, row.description,
                 static_cast<int>(result),
                 text != nullptr ? text : messages::cupti::kNoDescription);
  return false;
}

void disable_kind(CuptiState& state, std::uint32_t kind) {
  if ((state.kinds & kind_bit(kind)) == 0) return;
  g_callback_state.api.cuptiActivityDisable(static_cast<CUpti_ActivityKind>(kind));
  state.kinds &= ~kind_bit(kind);
}

void enable_kinds(CuptiState& state) {
  if (state.settings.graph_nodes)
    set_node_budget();
  else
    // First: it must be on before a graph is instantiated, and excludes records of its nodes.
    enable_kind(state, kGraphKind);
  for (const KindRow& row : kKinds)
    if ((!state.budget_stopped || !row.device_work) && !may_stall(state, row))
      enable_kind(state, row);
  limit_sync_records(state);
  update_api_kinds(state);
  g_callback_state.activity_left_enabled.store(false, std::memory_order_relaxed);
}

void disable_kinds(CuptiState& state) {
  disable_api_kinds(state);
  const bool keep = has_hazard(g_callback_state.api.version, Hazard::kKernelKindStays) &&
                    (state.kinds & kind_bit(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) != 0;
  for (std::uint32_t kind = 1; kind < 64; ++kind)
    if (!keep || kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) disable_kind(state, kind);
  g_callback_state.activity_left_enabled.store(keep, std::memory_order_relaxed);
  if (!keep || (state.sent_notices & kReportedKept) != 0) return;
  state.sent_notices |= kReportedKept;
  queue_notice(NoticeLevel::kInfo, 0, messages::cupti::kKernelsStayOn,
               g_callback_state.api.version);
}

// With the kernel kind CUPTI keeps whatever it does with its device buffers: copies and sets that
// are switched off would be lost for nothing.
bool stop_device_kinds(CuptiState& state) {
  if (has_hazard(g_callback_state.api.version, Hazard::kKernelKindStays)) return false;
  for (const KindRow& row : kKinds)
    if (row.device_work) disable_kind(state, row.kind);
  return true;
}

void set_callbacks(CuptiState& state, Mode asked) {
  const Mode wanted = asked == Mode::kRecording ? wanted_while_recording(state) : asked;
  if (state.callbacks == wanted) return;
  if (wanted == Mode::kRecording)
    g_callback_state.callbacks_on_since_ns.store(base::mono_ns(), std::memory_order_relaxed);
  for_each_call(
      [&state, wanted](CUpti_CallbackDomain domain, std::uint32_t cbid, CallClass call_class) {
        const bool before = is_on(state.callbacks, call_class), after = is_on(wanted, call_class);
        if (before != after) callback_switch(state, domain, cbid, after);
      });
  set_callback_flags(state, wanted);
}

void set_callback_flags(CuptiState& state, Mode wanted) {
  if (is_on(state.callbacks, CallClass::kGraph) && !is_on(wanted, CallClass::kGraph))
    hot::g_state.graph_callback_gaps.fetch_add(1, std::memory_order_relaxed);
  state.callbacks = wanted;
}

}  // namespace gpuprof::cupti
