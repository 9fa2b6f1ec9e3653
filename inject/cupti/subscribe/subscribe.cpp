// SPDX-License-Identifier: Apache-2.0
//
// Opening CUPTI and taking its one slot; every refusal has its sentence.
//
// Context:  worker | boundary, under the room's lock
// Owns:     the subscriber handle (in Room)
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
  if (g_live.api.cuptiGetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr)
    return "no description";
  return text;
}

void say_not_found(const Room& room) {
  if (room.driver.stub)
    say(NoticeLevel::kFailure, 0,
        "No GPU events: the program uses the CUDA toolkit's stub driver %.160s. Take the folder "
        "named stubs out of LD_LIBRARY_PATH.",
        room.driver.path);
  else if (room.copy.refused[0] != '\0')
    say(NoticeLevel::kFailure, 0,
        "No GPU events: no usable CUPTI library (%s). Install the CUPTI of the driver's CUDA "
        "release, or a newer driver.",
        room.copy.refused);
  else
    say(NoticeLevel::kFailure, 0,
        "No GPU events: no CUPTI library (libcupti.so) was found in the program, beside its CUDA "
        "runtime, in a toolkit or on the library path. Install it (pip: nvidia-cuda-cupti) or put "
        "its folder into LD_LIBRARY_PATH.");
}

void state_facts(Room& room) {
  room.facts_sent = true;
  state_fact("cupti_path", "%s", room.copy.path);
  state_fact("cupti_version", "%u", g_live.api.version);
  state_fact("cupti_origin", "%s", origin_text(room.copy.origin));
  state_fact("cuda_driver_version", "%u.%u", room.driver.version / 1000,
             room.driver.version % 1000 / 10);
  if (room.copy.mapped_copies > 1) state_fact("cupti_copies_mapped", "%u", room.copy.mapped_copies);
  if (room.copy.simulated || room.driver.simulated) state_fact("simulated", "true");
  for (const HazardRow& row : kHazards)
    if (has_hazard(g_live.api.version, row.hazard)) {
      state_fact("cupti_caution", "%s", row.fact);
    }
}

CUptiResult subscribe(Room& room, char* holder) {
  if (g_live.api.cuptiSubscribe_v2 != nullptr) {
    static const char kName[] = "gpuprof";
    CUpti_SubscriberParams params{};
    // Without the later field for several subscribers: this one yields to whoever comes.
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = kName;
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = kHolderBytes;
    const CUptiResult result =
        g_live.api.cuptiSubscribe_v2(&room.subscriber, api_callback, nullptr, &params);
    if (result != CUPTI_ERROR_INVALID_PARAMETER) return result;
  }
  return g_live.api.cuptiSubscribe(&room.subscriber, api_callback, nullptr);
}

void slot_is_taken(Room& room, CUptiResult result, const char* holder, std::uint64_t now_ns) {
  // Graphs alone are no event of a trace, and until one is recorded the slot may be free again.
  if (room.wanted != Wanted::kGraphSteps && (room.said & kSaidTaken) == 0) {
    room.said |= kSaidTaken;
    say(NoticeLevel::kMissing, result,
        "No GPU events: %s holds CUPTI's one subscriber slot in this process. Everything else is "
        "recorded; gpuprof asks again every 30 s. To get GPU events, run without the other "
        "profiler.",
        holder[0] != '\0' ? holder : "another profiler (nsys, ncu, torch.profiler?)");
  }
  room.slot = Slot::kTaken;
  room.retry_at_ns = now_ns + kTakenRetryNs;
}

void not_ready(Room& room, CUptiResult result, std::uint64_t now_ns) {
  // One more try is for a driver that is just starting; as long as cuInit has not succeeded (we
  // were attached before it) there is nothing to conclude. Only the worker may ask: inside cuInit
  // itself a question could wait for cuInit to end.
  const bool started = on_our_thread() && driver_ready(room.driver);
  if (room.driver.handle && !room.driver.stub && (!started || room.not_ready_retries++ == 0)) {
    room.retry_at_ns = now_ns + kRefusedRetryNs;
    return;
  }
  room.slot = Slot::kRefused;
  if (room.driver.stub)
    say_not_found(room);
  else if (!room.driver.handle)
    say(NoticeLevel::kFailure, result,
        "No GPU events: no CUDA driver (libcuda.so.1) is loaded in this process.");
  else
    say(NoticeLevel::kFailure, result,
        "No GPU events: CUPTI %u cannot work with the driver (CUDA %u.%u): %s. Most often the "
        "driver is too old for this CUPTI; install a newer driver or an older CUPTI.",
        g_live.api.version, room.driver.version / 1000, room.driver.version % 1000 / 10,
        result_text(result));
}

void refused_for_good(Room& room, CUptiResult result) {
  room.slot = Slot::kRefused;
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
  say(NoticeLevel::kFailure, result, "No GPU events: CUPTI refused the subscription (%d, %s).%s",
      static_cast<int>(result), result_text(result), why);
}

// Order matters: switches before the buffer callbacks, those before any kind.
bool settle(Room& room) {
  const Api& api = g_live.api;
  const bool per_thread = set_switches(room);
  // A buffer per thread stays part-filled in quiet threads: more and smaller ones then.
  const std::uint32_t split = per_thread ? 8 : 1;
  std::uint32_t bytes = room.settings.buffer_bytes / split;
  if (bytes < 64u << 10) bytes = 64u << 10;
  const bool heap = room.settings.attached && on_our_thread();
  if (!g_buffers.map(bytes, room.settings.buffer_count * split,
                     heap ? BufferMemory::kHeap : BufferMemory::kMapping)) {
    say(NoticeLevel::kFailure, 0, "No GPU events: no memory for CUPTI's buffers.");
    return false;
  }
  ours_come_into(api.cuptiActivityRegisterCallbacks);
  room.came_in.store(getpid(), std::memory_order_relaxed);
  const CUptiResult result = api.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
  room.registered = result == CUPTI_SUCCESS;
  room.in_force = room.in_force || room.registered;
  if (!room.registered)
    say(NoticeLevel::kFailure, result, "No GPU events: CUPTI did not take our buffers (%d, %s).",
        static_cast<int>(result), result_text(result));
  return room.registered;
}

void say_slot_is_back(Room& room) {
  if ((room.said & kSaidNoSlot) == 0) return;
  room.said &= ~kSaidNoSlot;
  say(NoticeLevel::kMissing, base::kNoticeNoSlot | base::kNoticeClosing,
      "The program's own profiler (torch.profiler or the like) kept CUPTI's one subscriber slot "
      "for a time after its session: launches of that time have no stacks.");
}

// The program got the slot from us, and its kinds are off: nobody else is meant by what is switched
// on now, and it asks through our wrappers when it begins again.
bool work_without_slot(Room& room) {
  const bool of_graphs = room.wanted == Wanted::kGraphSteps;
  if (room.wanted != Wanted::kOff && !of_graphs && (room.said & kSaidNoSlot) == 0) {
    room.said |= kSaidNoSlot;
    say(NoticeLevel::kMissing, base::kNoticeNoSlot | base::kNoticeOpening,
        "The program's own profiler (torch.profiler or the like) keeps CUPTI's one subscriber slot "
        "after its session: launches from then on have no stacks%s. Their calls and GPU work are "
        "recorded.",
        room.settings.kernel_steps ? ", and steps by kernel are not counted" : "");
  }
  return room.wanted != Wanted::kRecording || room.registered || settle(room);
}

}  // namespace

bool open_cupti(Room& room, std::uint64_t now_ns) {
  if (room.open) {
    if (!room.facts_sent) state_facts(room);
    return true;
  }
  if (now_ns < room.next_open_ns) return false;
  // What is being loaded just now would be passed over.
  if (on_our_thread() && !modules::loads_are_over()) return false;
  if (!room.driver.handle) room.driver = find_driver();
  if (room.driver.stub || !locate_cupti(room.driver, &room.copy, &g_live.api)) {
    // A framework may bring its own copy later.
    room.next_open_ns = now_ns + kTakenRetryNs;
    if (!room.open_failed) say_not_found(room);
    // A trace without GPU events is of a simulated GPU all the same.
    if (room.driver.simulated && !room.open_failed) state_fact("simulated", "true");
    room.open_failed = true;
    return false;
  }
  probe_layout(g_live.api, &g_live.layout);
  learn_newer_calls();
  room.open = true;
  state_facts(room);
  return true;
}

bool take_slot(Room& room, std::uint64_t now_ns) {
  if (room.slot == Slot::kOurs) return room.registered || settle(room);
  if (slot_of_program() == SlotBy::kEarlier) return work_without_slot(room);
  if (room.slot == Slot::kRefused || now_ns < room.retry_at_ns) return false;
  char holder[kHolderBytes] = {};
  const CUptiResult result = subscribe(room, holder);
  holder[kHolderBytes - 1] = '\0';
  switch (result) {
    case CUPTI_SUCCESS:
      if ((room.said & kSaidTaken) != 0)
        say(NoticeLevel::kInfo, 0, "CUPTI's slot is free again: GPU events are recorded from now.");
      room.said &= ~kSaidTaken;
      room.slot = Slot::kOurs;
      room.retry_at_ns = 0;
      say_slot_is_back(room);
      return settle(room);
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_MAX_LIMIT_REACHED:
      slot_is_taken(room, result, holder, now_ns);
      return false;
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_UNKNOWN:
      not_ready(room, result, now_ns);
      return false;
    default:
      refused_for_good(room, result);
      return false;
  }
}

void release_slot(Room& room) {
  if (room.slot != Slot::kOurs) return;
  g_live.api.cuptiUnsubscribe(room.subscriber);
  room.subscriber = nullptr;
  room.slot = Slot::kFree;
  callbacks_are(room, Wanted::kOff);
  // Whoever comes next may register its own: ours are registered anew with the next slot.
  room.registered = false;
}

}  // namespace gpuprof::cupti
