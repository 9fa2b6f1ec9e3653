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
    return "no description";
  return text;
}

void report_not_found(const CuptiState& room) {
  if (room.driver.stub)
    queue_notice(
        NoticeLevel::kFailure, 0,
        "No GPU events: the program uses the CUDA toolkit's stub driver %.160s. Take the folder "
        "named stubs out of LD_LIBRARY_PATH.",
        room.driver.path);
  else if (room.library.refused[0] != '\0')
    queue_notice(
        NoticeLevel::kFailure, 0,
        "No GPU events: no usable CUPTI library (%s). Install the CUPTI of the driver's CUDA "
        "release, or a newer driver.",
        room.library.refused);
  else
    queue_notice(
        NoticeLevel::kFailure, 0,
        "No GPU events: no CUPTI library (libcupti.so) was found in the program, beside its CUDA "
        "runtime, in a toolkit or on the library path. Install it (pip: nvidia-cuda-cupti) or put "
        "its folder into LD_LIBRARY_PATH.");
}

void queue_library_facts(CuptiState& room) {
  room.facts_sent = true;
  queue_fact("cupti_path", "%s", room.library.path);
  queue_fact("cupti_version", "%u", g_callback_state.api.version);
  queue_fact("cupti_origin", "%s", origin_text(room.library.origin));
  queue_fact("cuda_driver_version", "%u.%u", room.driver.version / 1000,
             room.driver.version % 1000 / 10);
  if (room.library.mapped_copies > 1)
    queue_fact("cupti_copies_mapped", "%u", room.library.mapped_copies);
  if (room.library.simulated || room.driver.simulated) queue_fact("simulated", "true");
  for (const HazardRow& row : kHazards)
    if (has_hazard(g_callback_state.api.version, row.hazard)) {
      queue_fact("cupti_caution", "%s", row.fact);
    }
}

CUptiResult subscribe(CuptiState& room, char* holder) {
  if (g_callback_state.api.cuptiSubscribe_v2 != nullptr) {
    static const char kName[] = "gpuprof";
    CUpti_SubscriberParams params{};
    // Without the later field for several subscribers: this one yields to whoever comes.
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = kName;
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = kHolderBytes;
    const CUptiResult result =
        g_callback_state.api.cuptiSubscribe_v2(&room.subscriber, api_callback, nullptr, &params);
    if (result != CUPTI_ERROR_INVALID_PARAMETER) return result;
  }
  return g_callback_state.api.cuptiSubscribe(&room.subscriber, api_callback, nullptr);
}

void on_subscriber_taken(CuptiState& room, CUptiResult result, const char* holder,
                         std::uint64_t now_ns) {
  // Graphs alone are no event of a trace, and until one is recorded the slot may be free again.
  if (room.mode != Mode::kGraphSteps && (room.sent_notices & kReportedTaken) == 0) {
    room.sent_notices |= kReportedTaken;
    queue_notice(
        NoticeLevel::kMissing, result,
        "No GPU events: %s holds CUPTI's one subscriber slot in this process. Everything else is "
        "recorded; gpuprof asks again every 30 s. To get GPU events, run without the other "
        "profiler.",
        holder[0] != '\0' ? holder : "another profiler (nsys, ncu, torch.profiler?)");
  }
  room.subscriber_state = SubscriberState::kTaken;
  room.retry_at_ns = now_ns + kTakenRetryNs;
}

void on_not_ready(CuptiState& room, CUptiResult result, std::uint64_t now_ns) {
  // One more try is for a driver that is just starting; as long as cuInit has not succeeded (we
  // were attached before it) there is nothing to conclude. Only the worker may ask: inside cuInit
  // itself a question could wait for cuInit to end.
  const bool started = is_own_thread() && driver_ready(room.driver);
  if (room.driver.handle && !room.driver.stub && (!started || room.not_ready_retries++ == 0)) {
    room.retry_at_ns = now_ns + kRefusedRetryNs;
    return;
  }
  room.subscriber_state = SubscriberState::kRefused;
  if (room.driver.stub)
    report_not_found(room);
  else if (!room.driver.handle)
    queue_notice(NoticeLevel::kFailure, result,
                 "No GPU events: no CUDA driver (libcuda.so.1) is loaded in this process.");
  else
    queue_notice(
        NoticeLevel::kFailure, result,
        "No GPU events: CUPTI %u cannot work with the driver (CUDA %u.%u): %s. Most often the "
        "driver is too old for this CUPTI; install a newer driver or an older CUPTI.",
        g_callback_state.api.version, room.driver.version / 1000, room.driver.version % 1000 / 10,
        result_text(result));
}

void on_refused(CuptiState& room, CUptiResult result) {
  room.subscriber_state = SubscriberState::kRefused;
  const char* why = "";
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      why = " Tracing needs no privilege since CUDA 10.2: a container or sandbox forbids it.";
      break;
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      why = " Profiling of this virtual GPU must be allowed on its host.";
      break;
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      why = " The GPU is in confidential-computing mode; only its devtools mode can be traced.";
      break;
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      why = " This kind of device cannot be traced.";
      break;
    default:
      break;
  }
  queue_notice(NoticeLevel::kFailure, result,
               "No GPU events: CUPTI refused the subscription (%d, %s).%s",
               static_cast<int>(result), result_text(result), why);
}

// Order matters: switches before the buffer callbacks, those before any kind.
bool register_callbacks(CuptiState& room) {
  const Api& api = g_callback_state.api;
  const bool per_thread = set_attributes(room);
  // A buffer per thread stays part-filled in quiet threads: more and smaller ones then.
  const std::uint32_t split = per_thread ? 8 : 1;
  std::uint32_t bytes = room.settings.buffer_bytes / split;
  if (bytes < 64u << 10) bytes = 64u << 10;
  const bool heap = room.settings.attached && is_own_thread();
  if (!g_buffers.map(bytes, room.settings.buffer_count * split,
                     heap ? BufferMemory::kHeap : BufferMemory::kMapping)) {
    queue_notice(NoticeLevel::kFailure, 0, "No GPU events: no memory for CUPTI's buffers.");
    return false;
  }
  set_own_copy(api.cuptiActivityRegisterCallbacks);
  room.buffers_pid.store(getpid(), std::memory_order_relaxed);
  const CUptiResult result = api.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
  room.registered = result == CUPTI_SUCCESS;
  room.callbacks_in_force = room.callbacks_in_force || room.registered;
  if (!room.registered)
    queue_notice(NoticeLevel::kFailure, result,
                 "No GPU events: CUPTI did not take our buffers (%d, %s).",
                 static_cast<int>(result), result_text(result));
  return room.registered;
}

void report_subscriber_back(CuptiState& room) {
  if ((room.sent_notices & kReportedNoSlot) == 0) return;
  room.sent_notices &= ~kReportedNoSlot;
  queue_notice(
      NoticeLevel::kMissing, base::kNoticeNoSubscriber | base::kNoticeFinal,
      "The program's own profiler (torch.profiler or the like) kept CUPTI's one subscriber slot "
      "for a time after its session: launches of that time have no stacks.");
}

// The program got the slot from us, and its kinds are off: nobody else is meant by what is switched
// on now, and it asks through our wrappers when it begins again.
bool continue_without_subscriber(CuptiState& room) {
  const bool of_graphs = room.mode == Mode::kGraphSteps;
  if (room.mode != Mode::kOff && !of_graphs && (room.sent_notices & kReportedNoSlot) == 0) {
    room.sent_notices |= kReportedNoSlot;
    queue_notice(
        NoticeLevel::kMissing, base::kNoticeNoSubscriber | base::kNoticeProvisional,
        "The program's own profiler (torch.profiler or the like) keeps CUPTI's one subscriber slot "
        "after its session: launches from then on have no stacks%s. Their calls and GPU work are "
        "recorded.",
        room.settings.kernel_steps ? ", and steps by kernel are not counted" : "");
  }
  return room.mode != Mode::kRecording || room.registered || register_callbacks(room);
}

}  // namespace

bool open_cupti(CuptiState& room, std::uint64_t now_ns) {
  if (room.open) {
    if (!room.facts_sent) queue_library_facts(room);
    return true;
  }
  if (now_ns < room.next_open_ns) return false;
  // What is being loaded just now would be passed over.
  if (is_own_thread() && !modules::pending_loads_done()) return false;
  if (!room.driver.handle) room.driver = find_driver();
  if (room.driver.stub || !locate_cupti(room.driver, &room.library, &g_callback_state.api)) {
    // A framework may bring its own copy later.
    room.next_open_ns = now_ns + kTakenRetryNs;
    if (!room.open_failed) report_not_found(room);
    // A trace without GPU events is of a simulated GPU all the same.
    if (room.driver.simulated && !room.open_failed) queue_fact("simulated", "true");
    room.open_failed = true;
    return false;
  }
  probe_record_sizes(g_callback_state.api, &g_callback_state.layout);
  learn_newer_calls();
  room.open = true;
  queue_library_facts(room);
  return true;
}

bool acquire_subscriber(CuptiState& room, std::uint64_t now_ns) {
  if (room.subscriber_state == SubscriberState::kOurs)
    return room.registered || register_callbacks(room);
  if (program_subscribe_version() == SubscribeVersion::kV1)
    return continue_without_subscriber(room);
  if (room.subscriber_state == SubscriberState::kRefused || now_ns < room.retry_at_ns) return false;
  char holder[kHolderBytes] = {};
  const CUptiResult result = subscribe(room, holder);
  holder[kHolderBytes - 1] = '\0';
  switch (result) {
    case CUPTI_SUCCESS:
      if ((room.sent_notices & kReportedTaken) != 0)
        queue_notice(NoticeLevel::kInfo, 0,
                     "CUPTI's slot is free again: GPU events are recorded from now.");
      room.sent_notices &= ~kReportedTaken;
      room.subscriber_state = SubscriberState::kOurs;
      room.retry_at_ns = 0;
      report_subscriber_back(room);
      return register_callbacks(room);
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_MAX_LIMIT_REACHED:
      on_subscriber_taken(room, result, holder, now_ns);
      return false;
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_UNKNOWN:
      on_not_ready(room, result, now_ns);
      return false;
    default:
      on_refused(room, result);
      return false;
  }
}

void release_subscriber(CuptiState& room) {
  if (room.subscriber_state != SubscriberState::kOurs) return;
  g_callback_state.api.cuptiUnsubscribe(room.subscriber);
  room.subscriber = nullptr;
  room.subscriber_state = SubscriberState::kFree;
  set_callback_flags(room, Mode::kOff);
  // Whoever comes next may register its own: ours are registered anew with the next slot.
  room.registered = false;
}

}  // namespace gpuprof::cupti
