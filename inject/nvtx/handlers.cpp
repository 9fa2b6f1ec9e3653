// SPDX-License-Identifier: Apache-2.0
//
// The handlers: a check, a guard, one record.
//
// Context:  callback
// Owns:     nothing
#include "inject/nvtx/handlers.hpp"

#include <atomic>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/hot/steps.hpp"
#include "inject/nvtx/handle_tables.hpp"
#include "inject/nvtx/step_pattern.hpp"

namespace gpuprof::nvtx {

namespace {

constexpr std::uint32_t kAnyUse = hot::kOnNvtx | hot::kOnNvtxSteps;
constexpr auto kStep = wire::StepSource::kNvtx;

// NVTX answers push and pop with a depth. The header leaves the number to the tool: one counter
// serves all domains of a thread. The push that began a step ends it with its own pop, which is
// found by counting what is open in its domain.
struct PushState {
  std::uint64_t depth : 14;      // open pushes, recorded or not
  std::uint64_t step_open : 14;  // open pushes of the step's domain, from the step's own; 0: none
  std::uint64_t step_domain : 8;
  std::uint64_t step : 28;  // its number
};
static_assert(sizeof(PushState) == 8 && kDomains <= 256);
thread_local PushState t_push_state = {};
// Which reset_open_ranges() the state has heard of.
thread_local std::uint32_t t_push_generation = 0;
constinit std::atomic<std::uint32_t> g_push_generation{0};

PushState& push_state() {
  const std::uint32_t generation = g_push_generation.load(std::memory_order_relaxed);
  if (t_push_generation != generation) {
    t_push_generation = generation;
    t_push_state = {};
  }
  return t_push_state;
}

constinit std::atomic<std::uint64_t> g_next_range{1};

// A started range that is a step: which one ends it. One at a time, as steps are.
constinit std::atomic<std::uint64_t> g_step_range{0};
constinit std::atomic<std::uint64_t> g_step_range_number{0};

/// What one event says, whichever of NVTX's forms it came in.
struct Event {
  TextView message{"", 0};
  std::uint32_t domain = 0;
  std::uint32_t category = 0;
  std::uint32_t color = 0;
  std::uint32_t payload_type = 0;
  std::uint64_t payload = 0;
};

// Of a kind that is not known nothing is looked at.
template <typename Attributes>
TextView message_of(const Attributes& from, char* wide) {
  switch (from.messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return as_text(from.message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return to_utf8(from.message.unicode, wide, kWideBytes);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return string_text(from.message.registered);
    default:
      return {"", 0};
  }
}

std::uint64_t payload_of(const nvtxEventAttributes_t& from) {
  switch (from.payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
    case NVTX_PAYLOAD_TYPE_INT64:
    case NVTX_PAYLOAD_TYPE_DOUBLE:
      return from.payload.ullValue;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
    case NVTX_PAYLOAD_TYPE_INT32:
    case NVTX_PAYLOAD_TYPE_FLOAT:
      return from.payload.uiValue;
    default:
      return 0;
  }
}

// Attributes carry their own size; what lies beyond it was not given.
Event event_of(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* from, char* wide) {
  Event event;
  event.domain = domain_index(domain);
  if (from == nullptr || from->size < sizeof(nvtxEventAttributes_t)) return event;
  event.message = message_of(*from, wide);
  event.category = from->category;
  if (from->colorType == NVTX_COLOR_ARGB) event.color = from->color;
  event.payload_type = static_cast<std::uint32_t>(from->payloadType);
  event.payload = payload_of(*from);
  return event;
}

Event event_of(TextView message) {
  Event event;
  event.message = message;
  return event;
}

template <typename R>
void fill(R* record, const hot::Guard& guard, const Event& event, std::uint64_t now_ns) {
  record->ts_ns = now_ns;
  record->message_id = hot::intern(guard, event.message.data, event.message.bytes, now_ns);
  record->domain = event.domain;
  record->category = event.category;
  record->color = event.color;
  record->payload_type = event.payload_type;
  record->payload = event.payload;
}

bool is_step(const Event& event) {
  return hot::on(hot::kOnNvtxSteps) && matches_step_pattern(event.message);
}

int push_unrecorded() {
  PushState& mine = push_state();
  mine.step_open = 0;
  return static_cast<int>(mine.depth++);
}

int push(const Event& event) {
  PushState& mine = push_state();
  const int depth = static_cast<int>(mine.depth++);
  const bool in_step = mine.step_open != 0;
  if (in_step && mine.step_domain == event.domain) ++mine.step_open;
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return depth;
  hot::count(wire::Counter::kNvtxCalls);
  const std::uint64_t now_ns = base::mono_ns();
  if (!in_step && is_step(event)) {
    mine.step = hot::step_begin(guard, kStep, now_ns) & 0xFFFFFFF;
    mine.step_domain = event.domain & 0xFF;
    mine.step_open = 1;
  }
  if (!hot::on(hot::kOnNvtx)) return depth;
  wire::RangePush record{};
  fill(&record, guard, event, now_ns);
  hot::record(guard, record, now_ns);
  return depth;
}

int pop(nvtxDomainHandle_t handle) {
  PushState& mine = push_state();
  // A pop without a push: NVTX wants a negative answer.
  if (mine.depth == 0) return -2;
  mine.depth--;
  const int depth = static_cast<int>(mine.depth);
  if (!hot::on(kAnyUse)) return depth;
  const std::uint32_t domain = domain_index(handle);
  bool ends_step = false;
  if (mine.step_open != 0 && mine.step_domain == domain) {
    mine.step_open--;
    ends_step = mine.step_open == 0;
  }
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return depth;
  hot::count(wire::Counter::kNvtxCalls);
  const std::uint64_t now_ns = base::mono_ns();
  if (hot::on(hot::kOnNvtx)) hot::record(guard, wire::RangePop{now_ns, domain, 0}, now_ns);
  if (ends_step) hot::step_end(guard, kStep, mine.step, now_ns);
  return depth;
}

nvtxRangeId_t start(const Event& event) {
  const std::uint64_t id = g_next_range.fetch_add(1, std::memory_order_relaxed);
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return id;
  hot::count(wire::Counter::kNvtxCalls);
  const std::uint64_t now_ns = base::mono_ns();
  if (is_step(event)) {
    g_step_range_number.store(hot::step_begin(guard, kStep, now_ns), std::memory_order_relaxed);
    g_step_range.store(id, std::memory_order_release);
  }
  if (!hot::on(hot::kOnNvtx)) return id;
  wire::RangeStart record{};
  record.range_id = id;
  fill(&record, guard, event, now_ns);
  hot::record(guard, record, now_ns);
  return id;
}

nvtxRangeId_t start_unrecorded() { return g_next_range.fetch_add(1, std::memory_order_relaxed); }

void end(nvtxRangeId_t id) {
  if (!hot::on(kAnyUse)) return;
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return;
  hot::count(wire::Counter::kNvtxCalls);
  const std::uint64_t now_ns = base::mono_ns();
  if (hot::on(hot::kOnNvtx)) hot::record(guard, wire::RangeEnd{now_ns, id}, now_ns);
  std::uint64_t expected = id;
  if (g_step_range.compare_exchange_strong(expected, 0, std::memory_order_acq_rel))
    hot::step_end(guard, kStep, g_step_range_number.load(std::memory_order_relaxed), now_ns);
}

void mark(const Event& event) {
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return;
  hot::count(wire::Counter::kNvtxCalls);
  const std::uint64_t now_ns = base::mono_ns();
  if (is_step(event)) hot::step_begin(guard, kStep, now_ns);
  if (!hot::on(hot::kOnNvtx)) return;
  wire::NvtxMark record{};
  fill(&record, guard, event, now_ns);
  hot::record(guard, record, now_ns);
}

// ---- NVTX's own signatures. Each looks at the switches before it looks at its arguments. ----

void NVTX_API mark_ex(const nvtxEventAttributes_t* event) {
  char wide[kWideBytes];
  if (hot::on(kAnyUse)) mark(event_of(nullptr, event, wide));
}
void NVTX_API mark_a(const char* message) {
  if (hot::on(kAnyUse)) mark(event_of(as_text(message)));
}
void NVTX_API mark_w(const wchar_t* message) {
  char wide[kWideBytes];
  if (hot::on(kAnyUse)) mark(event_of(to_utf8(message, wide, kWideBytes)));
}
nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t* event) {
  char wide[kWideBytes];
  return hot::on(kAnyUse) ? start(event_of(nullptr, event, wide)) : start_unrecorded();
}
nvtxRangeId_t NVTX_API start_a(const char* message) {
  return hot::on(kAnyUse) ? start(event_of(as_text(message))) : start_unrecorded();
}
nvtxRangeId_t NVTX_API start_w(const wchar_t* message) {
  char wide[kWideBytes];
  return hot::on(kAnyUse) ? start(event_of(to_utf8(message, wide, kWideBytes)))
                          : start_unrecorded();
}
void NVTX_API range_end(nvtxRangeId_t id) { end(id); }
int NVTX_API push_ex(const nvtxEventAttributes_t* event) {
  char wide[kWideBytes];
  return hot::on(kAnyUse) ? push(event_of(nullptr, event, wide)) : push_unrecorded();
}
int NVTX_API push_a(const char* message) {
  return hot::on(kAnyUse) ? push(event_of(as_text(message))) : push_unrecorded();
}
int NVTX_API push_w(const wchar_t* message) {
  char wide[kWideBytes];
  return hot::on(kAnyUse) ? push(event_of(to_utf8(message, wide, kWideBytes))) : push_unrecorded();
}
int NVTX_API range_pop() { return pop(nullptr); }

void NVTX_API name_thread_a(std::uint32_t tid, const char* name) {
  add_thread_name(tid, as_text(name));
}
void NVTX_API name_thread_w(std::uint32_t tid, const wchar_t* name) {
  char wide[kWideBytes];
  add_thread_name(tid, to_utf8(name, wide, kWideBytes));
}
// Categories stay numbers: nothing downstream shows their names.
void NVTX_API name_category_a(std::uint32_t, const char*) {}
void NVTX_API name_category_w(std::uint32_t, const wchar_t*) {}

void NVTX_API domain_mark_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  char wide[kWideBytes];
  if (hot::on(kAnyUse)) mark(event_of(domain, event, wide));
}
nvtxRangeId_t NVTX_API domain_start_ex(nvtxDomainHandle_t domain,
                                       const nvtxEventAttributes_t* event) {
  char wide[kWideBytes];
  return hot::on(kAnyUse) ? start(event_of(domain, event, wide)) : start_unrecorded();
}
void NVTX_API domain_end(nvtxDomainHandle_t, nvtxRangeId_t id) { end(id); }
int NVTX_API domain_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  char wide[kWideBytes];
  return hot::on(kAnyUse) ? push(event_of(domain, event, wide)) : push_unrecorded();
}
int NVTX_API domain_pop(nvtxDomainHandle_t domain) { return pop(domain); }
nvtxResourceHandle_t NVTX_API resource_create(nvtxDomainHandle_t, nvtxResourceAttributes_t* from) {
  if (from == nullptr || from->size < sizeof(nvtxResourceAttributes_t) ||
      from->identifierType != NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE)
    return nullptr;
  char wide[kWideBytes];
  add_thread_name(static_cast<std::uint32_t>(from->identifier.ullValue), message_of(*from, wide));
  return nullptr;
}
void NVTX_API resource_destroy(nvtxResourceHandle_t) {}
void NVTX_API domain_category_a(nvtxDomainHandle_t, std::uint32_t, const char*) {}
void NVTX_API domain_category_w(nvtxDomainHandle_t, std::uint32_t, const wchar_t*) {}
nvtxStringHandle_t NVTX_API register_a(nvtxDomainHandle_t, const char* text) {
  return add_string(as_text(text));
}
nvtxStringHandle_t NVTX_API register_w(nvtxDomainHandle_t, const wchar_t* text) {
  char wide[kWideBytes];
  return add_string(to_utf8(text, wide, kWideBytes));
}
nvtxDomainHandle_t NVTX_API create_a(const char* name) { return add_domain(as_text(name)); }
nvtxDomainHandle_t NVTX_API create_w(const wchar_t* name) {
  char wide[kWideBytes];
  return add_domain(to_utf8(name, wide, kWideBytes));
}
// Names stay: events of the domain may still be on their way.
void NVTX_API destroy(nvtxDomainHandle_t) {}
void NVTX_API initialize_call(const void*) {}

template <typename F>
NvtxFunctionPointer as_entry(F function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

// Checked against NVIDIA's prototypes, then stored as the uncallable type of the tables.
#define GPUPROF_ENTRY(module, name, type, function) \
  TableEntry { NVTX_CBID_##module##_##name, as_entry(static_cast<type>(function)) }

}  // namespace

void reset_open_ranges() { g_push_generation.fetch_add(1, std::memory_order_relaxed); }

TableEntries core_entries() {
  static const TableEntry entries[] = {
      GPUPROF_ENTRY(CORE, MarkEx, nvtxMarkEx_impl_fntype, mark_ex),
      GPUPROF_ENTRY(CORE, MarkA, nvtxMarkA_impl_fntype, mark_a),
      GPUPROF_ENTRY(CORE, MarkW, nvtxMarkW_impl_fntype, mark_w),
      GPUPROF_ENTRY(CORE, RangeStartEx, nvtxRangeStartEx_impl_fntype, start_ex),
      GPUPROF_ENTRY(CORE, RangeStartA, nvtxRangeStartA_impl_fntype, start_a),
      GPUPROF_ENTRY(CORE, RangeStartW, nvtxRangeStartW_impl_fntype, start_w),
      GPUPROF_ENTRY(CORE, RangeEnd, nvtxRangeEnd_impl_fntype, range_end),
      GPUPROF_ENTRY(CORE, RangePushEx, nvtxRangePushEx_impl_fntype, push_ex),
      GPUPROF_ENTRY(CORE, RangePushA, nvtxRangePushA_impl_fntype, push_a),
      GPUPROF_ENTRY(CORE, RangePushW, nvtxRangePushW_impl_fntype, push_w),
      GPUPROF_ENTRY(CORE, RangePop, nvtxRangePop_impl_fntype, range_pop),
      GPUPROF_ENTRY(CORE, NameCategoryA, nvtxNameCategoryA_impl_fntype, name_category_a),
      GPUPROF_ENTRY(CORE, NameCategoryW, nvtxNameCategoryW_impl_fntype, name_category_w),
      GPUPROF_ENTRY(CORE, NameOsThreadA, nvtxNameOsThreadA_impl_fntype, name_thread_a),
      GPUPROF_ENTRY(CORE, NameOsThreadW, nvtxNameOsThreadW_impl_fntype, name_thread_w),
  };
  return {entries, sizeof entries / sizeof entries[0]};
}

TableEntries core2_entries() {
  static const TableEntry entries[] = {
      GPUPROF_ENTRY(CORE2, DomainMarkEx, nvtxDomainMarkEx_impl_fntype, domain_mark_ex),
      GPUPROF_ENTRY(CORE2, DomainRangeStartEx, nvtxDomainRangeStartEx_impl_fntype, domain_start_ex),
      GPUPROF_ENTRY(CORE2, DomainRangeEnd, nvtxDomainRangeEnd_impl_fntype, domain_end),
      GPUPROF_ENTRY(CORE2, DomainRangePushEx, nvtxDomainRangePushEx_impl_fntype, domain_push_ex),
      GPUPROF_ENTRY(CORE2, DomainRangePop, nvtxDomainRangePop_impl_fntype, domain_pop),
      GPUPROF_ENTRY(CORE2, DomainResourceCreate, nvtxDomainResourceCreate_impl_fntype,
                    resource_create),
      GPUPROF_ENTRY(CORE2, DomainResourceDestroy, nvtxDomainResourceDestroy_impl_fntype,
                    resource_destroy),
      GPUPROF_ENTRY(CORE2, DomainNameCategoryA, nvtxDomainNameCategoryA_impl_fntype,
                    domain_category_a),
      GPUPROF_ENTRY(CORE2, DomainNameCategoryW, nvtxDomainNameCategoryW_impl_fntype,
                    domain_category_w),
      GPUPROF_ENTRY(CORE2, DomainRegisterStringA, nvtxDomainRegisterStringA_impl_fntype,
                    register_a),
      GPUPROF_ENTRY(CORE2, DomainRegisterStringW, nvtxDomainRegisterStringW_impl_fntype,
                    register_w),
      GPUPROF_ENTRY(CORE2, DomainCreateA, nvtxDomainCreateA_impl_fntype, create_a),
      GPUPROF_ENTRY(CORE2, DomainCreateW, nvtxDomainCreateW_impl_fntype, create_w),
      GPUPROF_ENTRY(CORE2, DomainDestroy, nvtxDomainDestroy_impl_fntype, destroy),
      GPUPROF_ENTRY(CORE2, Initialize, nvtxInitialize_impl_fntype, initialize_call),
  };
  return {entries, sizeof entries / sizeof entries[0]};
}

}  // namespace gpuprof::nvtx
