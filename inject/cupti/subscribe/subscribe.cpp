// SPDX-License-Identifier: Apache-2.0
//
// Opening CUPTI and taking its one slot; every refusal has its sentence.
//
// Context:  worker | boundary, under the component's lock
// Owns:     the subscriber handle (in CuptiState)
#include <unistd.h>

#include <cstring>

#include "gpuprof/base/notices.hpp"
#include "inject/cupti/activity/buffer_callbacks.hpp"
#include "inject/cupti/activity/buffer_pool.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/api_callback.hpp"
#include "inject/cupti/callbacks/call_list.hpp"
#include "inject/cupti/interpose/buffer_forwarding.hpp"
#include "inject/cupti/interpose/program_profiler.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/notice_queue.hpp"
#include "inject/cupti/subscribe/attributes.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/messages/cupti.hpp"
#include "inject/modules/loader_lock.hpp"

namespace gpuprof::cupti {

namespace {

using wire::NoticeLevel;

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kTakenRetryNs = 30 * kSecondNs;
// cuInit is still running when the driver calls us.
constexpr std::uint64_t kRefusedRetryNs = 50'000'000;
constexpr std::uint32_t kHolderBytes = 64;

const char* result_text(CUptiResult result) {
  const char* text = nullptr;
  if (g_callback_state.api.cuptiGetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr)
    return messages::cupti::kNoDescription;
  return text;
}

void report_not_found(const CuptiState& state) {
  if (state.driver.stub)
    queue_notice(NoticeLevel::kFailure, 0, messages::cupti::kStubDriver, state.driver.path);
  else if (state.library.refused[0] != '\0')
    queue_notice(NoticeLevel::kFailure, 0, messages::cupti::kNoUsableCupti, state.library.refused);
  else
    queue_notice(NoticeLevel::kFailure, 0, messages::cupti::kNoCupti);
}

void queue_library_facts(CuptiState& state) {
  state.facts_sent = true;
  queue_fact("cupti_path", "%s", state.library.path);
  queue_fact("cupti_version", "%u", g_callback_state.api.version);
  queue_fact("cupti_origin", "%s", origin_text(state.library.origin));
  queue_fact("cuda_driver_version", "%u.%u", state.driver.version / 1000,
             state.driver.version % 1000 / 10);
  if (state.library.mapped_copies > 1)
    queue_fact("cupti_copies_mapped", "%u", state.library.mapped_copies);
  if (state.library.simulated || state.driver.simulated) queue_fact("simulated", "true");
  for (const HazardRow& row : kHazards)
    if (has_hazard(g_callback_state.api.version, row.hazard)) {
      queue_fact("cupti_caution", "%s", row.fact);
    }
}

CUptiResult subscribe(CuptiState& state, char* holder) {
  if (g_callback_state.api.cuptiSubscribe_v2 != nullptr) {
    static const char kName[] = "gpuprof";
    CUpti_SubscriberParams params{};
    // Without the later field for several subscribers: this one yields to whoever comes.
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = kName;
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = kHolderBytes;
    const CUptiResult result =
        g_callback_state.api.cuptiSubscribe_v2(&state.subscriber, api_callback, nullptr, &params);
    if (result != CUPTI_ERROR_INVALID_PARAMETER) return result;
  }
  return g_callback_state.api.cuptiSubscribe(&state.subscriber, api_callback, nullptr);
}

void on_subscriber_taken(CuptiState& state, CUptiResult result, const char* holder,
                         std::uint64_t now_ns) {
  // Graphs alone are no event of a trace, and until one is recorded the slot may be free again.
  if (state.mode != Mode::kGraphSteps && (state.sent_notices & kReportedTaken) == 0) {
    state.sent_notices |= kReportedTaken;
    queue_notice(NoticeLevel::kMissing, result, messages::cupti::kSlotTaken,
                 holder[0] != '\0' ? holder : messages::cupti::kSomeProfiler);
  }
  state.subscriber_state = SubscriberState::kTaken;
  state.retry_at_ns = now_ns + kTakenRetryNs;
}

void on_not_ready(CuptiState& state, CUptiResult result, std::uint64_t now_ns) {
  // One more try is for a driver that is just starting; as long as cuInit has not succeeded (we
  // were attached before it) there is nothing to conclude. Only the worker may ask: inside cuInit
  // itself a question could wait for cuInit to end.
  const bool started = is_own_thread() && driver_ready(state.driver);
  if (state.driver.handle && !state.driver.stub && (!started || state.not_ready_retries++ == 0)) {
    state.retry_at_ns = now_ns + kRefusedRetryNs;
    return;
  }
  state.subscriber_state = SubscriberState::kRefused;
  if (state.driver.stub)
    report_not_found(state);
  else if (!state.driver.handle)
    queue_notice(NoticeLevel::kFailure, result, messages::cupti::kNoDriver);
  else
    queue_notice(NoticeLevel::kFailure, result, messages::cupti::kDriverTooOld,
                 g_callback_state.api.version, state.driver.version / 1000,
                 state.driver.version % 1000 / 10, result_text(result));
}

void on_refused(CuptiState& state, CUptiResult result) {
  state.subscriber_state = SubscriberState::kRefused;
  const char* why = "";
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      why = messages::cupti::kPrivilegeClause;
      break;
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      why = messages::cupti::kVirtualGpuClause;
      break;
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      why = messages::cupti::kConfidentialClause;
      break;
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      why = messages::cupti::kDeviceClause;
      break;
    default:
      break;
  }
  queue_notice(NoticeLevel::kFailure, result, messages::cupti::kSubscriptionRefused,
               static_cast<int>(result), result_text(result), why);
}

// Order matters: switches before the buffer callbacks, those before any kind.
bool register_callbacks(CuptiState& state) {
  const Api& api = g_callback_state.api;
  const bool per_thread = set_attributes(state);
  // A buffer per thread stays part-filled in quiet threads: more and smaller ones then.
  const std::uint32_t split = per_thread ? 8 : 1;
  std::uint32_t bytes = state.settings.buffer_bytes / split;
  if (bytes < 64u << 10) bytes = 64u << 10;
  const bool heap = state.settings.attached && is_own_thread();
  if (!g_buffers.map(bytes, state.settings.buffer_count * split,
                     heap ? BufferMemory::kHeap : BufferMemory::kMapping)) {
    queue_notice(NoticeLevel::kFailure, 0, messages::cupti::kNoBufferMemory);
    return false;
  }
  set_own_copy(api.cuptiActivityRegisterCallbacks);
  state.buffers_pid.store(getpid(), std::memory_order_relaxed);
  const CUptiResult result = api.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
  state.registered = result == CUPTI_SUCCESS;
  state.callbacks_in_force = state.callbacks_in_force || state.registered;
  if (!state.registered)
    queue_notice(NoticeLevel::kFailure, result, messages::cupti::kBuffersRefused,
                 static_cast<int>(result), result_text(result));
  return state.registered;
}

void report_subscriber_back(CuptiState& state) {
  if ((state.sent_notices & kReportedNoSlot) == 0) return;
  state.sent_notices &= ~kReportedNoSlot;
  queue_notice(NoticeLevel::kMissing, base::kNoticeNoSubscriber | base::kNoticeFinal,
               messages::cupti::kSlotWasKept);
}

// The program got the slot from us, and its kinds are off: nobody else is meant by what is switched
// on now, and it asks through our wrappers when it begins again.
bool continue_without_subscriber(CuptiState& state) {
  const bool of_graphs = state.mode == Mode::kGraphSteps;
  if (state.mode != Mode::kOff && !of_graphs && (state.sent_notices & kReportedNoSlot) == 0) {
    state.sent_notices |= kReportedNoSlot;
    queue_notice(NoticeLevel::kMissing, base::kNoticeNoSubscriber | base::kNoticeProvisional, "%s",
                 state.settings.kernel_steps ? messages::cupti::kSlotKeptNoSteps
                                             : messages::cupti::kSlotKept);
  }
  return state.mode != Mode::kRecording || state.registered || register_callbacks(state);
}

}  // namespace

bool open_cupti(CuptiState& state, std::uint64_t now_ns) {
  if (state.open) {
    if (!state.facts_sent) queue_library_facts(state);
    return true;
  }
  if (now_ns < state.next_open_ns) return false;
  // What is being loaded just now would be passed over.
  if (is_own_thread() && !modules::pending_loads_done()) return false;
  if (!state.driver.handle) state.driver = find_driver();
  if (state.driver.stub || !locate_cupti(state.driver, &state.library, &g_callback_state.api)) {
    // A framework may bring its own copy later.
    state.next_open_ns = now_ns + kTakenRetryNs;
    if (!state.open_failed) report_not_found(state);
    // A trace without GPU events is of a simulated GPU all the same.
    if (state.driver.simulated && !state.open_failed) queue_fact("simulated", "true");
    state.open_failed = true;
    return false;
  }
  probe_record_sizes(g_callback_state.api, &g_callback_state.layout);
  learn_newer_calls();
  state.open = true;
  queue_library_facts(state);
  return true;
}

bool acquire_subscriber(CuptiState& state, std::uint64_t now_ns) {
  if (state.subscriber_state == SubscriberState::kOurs)
    return state.registered || register_callbacks(state);
  if (program_subscribe_version() == SubscribeVersion::kV1)
    return continue_without_subscriber(state);
  if (state.subscriber_state == SubscriberState::kRefused || now_ns < state.retry_at_ns)
    return false;
  char holder[kHolderBytes] = {};
  const CUptiResult result = subscribe(state, holder);
  holder[kHolderBytes - 1] = '\0';
  switch (result) {
    case CUPTI_SUCCESS:
      if ((state.sent_notices & kReportedTaken) != 0)
        queue_notice(NoticeLevel::kInfo, 0, messages::cupti::kSlotFree);
      state.sent_notices &= ~kReportedTaken;
      state.subscriber_state = SubscriberState::kOurs;
      state.retry_at_ns = 0;
      report_subscriber_back(state);
      return register_callbacks(state);
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_MAX_LIMIT_REACHED:
      on_subscriber_taken(state, result, holder, now_ns);
      return false;
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_UNKNOWN:
      on_not_ready(state, result, now_ns);
      return false;
    default:
      on_refused(state, result);
      return false;
  }
}

void release_subscriber(CuptiState& state) {
  if (state.subscriber_state != SubscriberState::kOurs) return;
  g_callback_state.api.cuptiUnsubscribe(state.subscriber);
  state.subscriber = nullptr;
  state.subscriber_state = SubscriberState::kFree;
  set_callback_flags(state, Mode::kOff);
  // Whoever comes next may register its own: ours are registered anew with the next slot.
  state.registered = false;
}

}  // namespace gpuprof::cupti
