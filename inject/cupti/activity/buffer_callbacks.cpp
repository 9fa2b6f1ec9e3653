// SPDX-License-Identifier: Apache-2.0
//
// The loop over a completed buffer: one line per kind.
//
// Context:  callback
// Owns:     nothing
#include "inject/cupti/activity/buffer_callbacks.hpp"

#include "gpuprof/base/clock.hpp"
#include "inject/cupti/activity/buffer_pool.hpp"
#include "inject/cupti/activity/flush_thread.hpp"
#include "inject/cupti/activity/graph_devices.hpp"
#include "inject/cupti/activity/name_ids.hpp"
#include "inject/cupti/activity/translate.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/call_list.hpp"
#include "inject/cupti/library/devices.hpp"
#include "inject/cupti/library/hazards.hpp"

namespace gpuprof::cupti {

constinit CallbackState g_callback_state;

namespace {

// Bursts of short threads would use the pool up between two flushes.
constexpr std::uint32_t kHurriedMs = 5;

using hot::count;
using wire::Counter;

/// One buffer on its way into one ring buffer.
class BufferReader {
 public:
  BufferReader(const hot::Guard& guard, std::uint64_t now_ns) : guard_(guard), now_ns_(now_ns) {}

  void take(std::uint32_t kind, const RawRecord& from) {
    switch (kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return kernel(from);
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        return copy(from, translate_memcpy);
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return copy(from, translate_memcpy_peer);
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return set(from);
      case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return graph(from);
      case CUPTI_ACTIVITY_KIND_RUNTIME:
        return api(from, wire::ApiDomain::kRuntime);
      case CUPTI_ACTIVITY_KIND_DRIVER:
        return api(from, wire::ApiDomain::kDriver);
      case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return plain<wire::Sync>(from, translate_sync);
      case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return plain<wire::Overhead>(from, translate_overhead);
      case CUPTI_ACTIVITY_KIND_CONTEXT:
        return context(from);
      case CUPTI_ACTIVITY_KIND_STREAM:
        return plain<wire::StreamInfo>(from, translate_stream);
      case CUPTI_ACTIVITY_KIND_JIT:
        return plain<wire::JitActivity>(from, translate_jit);
      case CUPTI_ACTIVITY_KIND_DEVICE:
        return device(from);
      default:
        return;
    }
  }

  /// Kernels among them that are no nodes of a graph.
  std::uint64_t kernels() const { return kernels_; }

 private:
  template <typename R>
  void push(const R& record) {
    hot::record(guard_, record, now_ns_);
  }

  template <typename R>
  void plain(const RawRecord& from, void (*translate)(const RawRecord&, R*)) {
    R record;
    translate(from, &record);
    push(record);
  }

  void kernel(const RawRecord& from) {
    wire::KernelExec record;
    const char* name = nullptr;
    const TimestampState times = translate_kernel(from, &record, &name);
    if (left_out(record.graph_node)) return;
    judge(times, record.start_ns, record.graph_node);
    kernels_ += record.graph_node == 0 ? 1 : 0;
    record.name_id = names_.id_of(guard_, name, now_ns_);
    push(record);
  }

  void copy(const RawRecord& from, TimestampState (*translate)(const RawRecord&, wire::MemCopy*)) {
    wire::MemCopy record;
    const TimestampState times = translate(from, &record);
    if (left_out(record.graph_node)) return;
    judge(times, record.start_ns, record.graph_node);
    push(record);
  }

  void set(const RawRecord& from) {
    wire::MemSet record;
    const TimestampState times = translate_memset(from, &record);
    if (left_out(record.graph_node)) return;
    judge(times, record.start_ns, record.graph_node);
    push(record);
  }

  void graph(const RawRecord& from) {
    wire::GraphExec record;
    const TimestampState times = translate_graph(from, &record);
    if (record.device == kNoDevice)
      find_graph_device(record.correlation, &record.device, &record.context);
    judge(times, record.start_ns, 0);
    push(record);
  }

  void api(const RawRecord& from, wire::ApiDomain domain) {
    if (g_callback_state.drop_api.load(std::memory_order_relaxed)) return;
    wire::ApiCall record;
    translate_api(from, domain, &record);
    if (hot::is_our_thread(record.tid)) return;
    if (class_of(domain, record.cbid) == CallClass::kNone) return;
    record.name_id = api_name_id(guard_, domain, record.cbid, now_ns_);
    push(record);
  }

  void context(const RawRecord& from) {
    wire::ContextInfo record;
    translate_context(from, &record);
    record_context(record.context, record.device);
    push(record);
  }

  void device(const RawRecord& from) {
    wire::DeviceInfo record;
    const char* name = nullptr;
    translate_device(from, &record, &name);
    fill_device_info(&record);
    record.name_id = names_.id_of(guard_, name, now_ns_);
    push(record);
  }

  static bool left_out(std::uint64_t graph_node) {
    if (graph_node == 0 || !g_callback_state.drop_nodes.load(std::memory_order_relaxed))
      return false;
    count(Counter::kGraphNodesSkipped);
    return true;
  }

  // Zero times of graph nodes are the sign of an exhausted device buffer pool, after which
  // nothing that comes is right.
  void judge(TimestampState times, std::uint64_t start_ns, std::uint64_t graph_node) {
    if (times == TimestampState::kBad) {
      count(Counter::kCuptiBadTimestamp);
      set_seen(start_ns == 0 && graph_node != 0 ? kSawZeroTimes | kSawGraphBudget : kSawZeroTimes);
    } else if (times == TimestampState::kIncomplete) {
      count(Counter::kCuptiIncomplete);
      set_seen(kSawIncomplete);
    }
    if (graph_node == 0) return;
    const std::uint64_t n =
        g_callback_state.node_records.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t budget = g_callback_state.node_budget.load(std::memory_order_relaxed);
    if (budget != 0 && n >= budget) set_seen(kSawGraphBudget);
  }

  const hot::Guard& guard_;
  std::uint64_t now_ns_;
  KernelNames names_;
  std::uint64_t kernels_ = 0;
};

// How much of the buffer lies before the end of a record (null: nothing); of one whose length we
// do not know, before its start.
std::size_t end_of(const CUpti_Activity* record, const std::uint8_t* buffer) {
  if (record == nullptr) return 0;
  const auto start = reinterpret_cast<const std::uint8_t*>(record) - buffer;
  return static_cast<std::size_t>(start) +
         g_callback_state.layout.of(static_cast<std::uint32_t>(record->kind));
}

void drain(std::uint8_t* buffer, std::size_t valid_bytes) {
  const hot::Guard guard(hot::RingRole::kCallback, true);
  BufferReader transfer(guard, base::mono_ns());
  bool may_wait =
      guard && guard.tid() == hot::g_state.flush_thread_tid.load(std::memory_order_relaxed);
  CUpti_Activity* at = nullptr;
  std::uint64_t records = 0;
  const CUpti_Activity* last = nullptr;
  CUptiResult result;
  while ((result = g_callback_state.api.cuptiActivityGetNextRecord(buffer, valid_bytes, &at)) ==
         CUPTI_SUCCESS) {
    ++records;
    last = at;
    if (!guard) continue;
    if (may_wait && records % 64 == 1) may_wait = wait_for_ring_space(guard);
    const auto kind = static_cast<std::uint32_t>(at->kind);
    const std::uint16_t bytes = g_callback_state.layout.of(kind);
    if (bytes != 0)
      transfer.take(kind, RawRecord{reinterpret_cast<const std::byte*>(at), bytes,
                                    g_callback_state.layout.version});
  }
  count(Counter::kCuptiRecords, records);
  if (transfer.kernels() != 0)
    g_callback_state.kernel_records.fetch_add(transfer.kernels(), std::memory_order_relaxed);
  if (!guard) count(Counter::kDroppedNoRing, records);
  if (result == CUPTI_ERROR_INVALID_KIND) {
    count(Counter::kCuptiUnknownKind);
    const std::size_t reached = end_of(last, buffer);
    if (reached < valid_bytes) count(Counter::kCuptiUnknownBytes, valid_bytes - reached);
    set_seen(kSeenUnknownKind);
  }
}

}  // namespace

bool accepting(std::uint64_t now_ns) {
  return now_ns < g_callback_state.accept_until_ns.load(std::memory_order_acquire);
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* bytes,
                               std::size_t* max_records) {
  bool discard = false;
  *buffer = g_buffers.acquire(bytes, &discard);
  *max_records = 0;
  if (g_buffers.low() && flush_period_ms(g_callback_state.api.version, kHurriedMs) == kHurriedMs)
    request_flush_soon(kHurriedMs);
  if (!discard || !hot::is_owner_process()) return;
  count(Counter::kCuptiNoBuffer);
  set_seen(kSawDiscard);
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                               std::size_t valid_bytes) {
  if (!g_buffers.owns(buffer)) return;
  // It comes back whoever listens: our memory is released when all have.
  if (!hot::is_owner_process()) return g_buffers.release(buffer, valid_bytes);
  g_callback_state.completions.fetch_add(1, std::memory_order_relaxed);
  count(Counter::kCuptiBuffers);
  if (valid_bytes > g_buffers.buffer_bytes()) valid_bytes = g_buffers.buffer_bytes();
  if (valid_bytes != 0) {
    if (accepting(base::mono_ns()))
      drain(buffer, valid_bytes);
    else if (!g_callback_state.activity_left_enabled.load(std::memory_order_relaxed))
      count(Counter::kCuptiAfterStop);
  }
  g_buffers.release(buffer, valid_bytes);
}

}  // namespace gpuprof::cupti
