// SPDX-License-Identifier: Apache-2.0
//
// Everything the simulated CUPTI remembers between calls: subscriber, callbacks, kinds, filters,
// attributes.
//
// Context:  any
// Owns:     one leaked State for each client
// Promises: among the callers that share a client (all, by default) the last writer wins, as in the
//           real v1 interface
// Not here: buffers (buffers.hpp), operations waiting for delivery (delivery.hpp)
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <cupti.h>

#include "core/hooks.hpp"
#include "core/work/operations.hpp"

namespace gpusim {

constexpr std::uint32_t kMaxKind = 256;
constexpr std::uint32_t kMaxCbid = 1024;
constexpr int kDomains = CUPTI_CB_DOMAIN_SIZE;

/// Per-call record filter: unset follows the kind, and so does one that came too late to be heard.
enum class Filter : std::int8_t { kUnset = -1, kOff = 0, kOn = 1, kSilent = 2 };

/// The settings of one client.
struct State {
  State() { clear(); }
  /// Puts everything back to what a freshly loaded library has.
  void clear();

  std::atomic<bool> kinds[kMaxKind];
  std::atomic<bool> silent[kMaxKind];       ///< switched on, and delivers nothing
  std::atomic<Filter> filter[3][kMaxCbid];  ///< by ApiDomain
  std::atomic<CUpti_CallbackFunc> callback;
  std::atomic<void*> user_data;
  std::atomic<std::uint32_t> subscriber;  ///< 0 = none, else the number in the handle
  std::atomic<std::uint8_t> callback_on[kDomains][kMaxCbid];
  std::atomic<CUpti_BuffersCallbackRequestFunc> request;
  std::atomic<CUpti_BuffersCallbackCompleteFunc> completed;
  std::atomic<std::uint32_t> thread_id_type;
  std::atomic<bool> per_thread_buffers;
  std::atomic<bool> client_zeroes;
  std::atomic<std::uint64_t> attributes[16];
  std::atomic<std::uint32_t> flush_period_ms;
  std::atomic<std::uint64_t> dropped;
  std::atomic<std::int64_t> flushes{0};  ///< calls of cuptiActivityFlushAll so far
  std::mutex abba;                       ///< only used by the abba scenario
};

/// The current client's settings.
State& state();

/// The profiler slot the current client competes for: the process's only one, or its own where each
/// client has a state of its own.
ToolSlot& subscriber_slot();

/// Whether a handle is that of the current client's subscriber.
bool is_subscriber(CUpti_SubscriberHandle handle);

/// Whether the driver has shut down, after which every call but the plainest gives 15.
std::atomic<bool>& driver_gone();

inline bool kind_on(std::uint32_t kind) {
  return state().kinds[kind].load(std::memory_order_relaxed);
}

/// Whether a call of this API leaves a record.
bool api_recorded(ApiDomain domain, std::uint32_t cbid);

/// Makes the driver report to us. Idempotent.
void attach_to_driver();

/// Whether a usable simulated driver can be opened.
bool driver_reachable();

/// External-correlation stack operations of the calling thread and the current client.
void push_external(std::uint32_t kind, std::uint64_t id);
bool pop_external(std::uint32_t kind, std::uint64_t* id);
bool top_external(std::uint32_t kind, std::uint64_t* id);

/// Reports an API-domain, resource or synchronize callback if the current client asked for it.
void call_client(CUpti_CallbackDomain domain, std::uint32_t cbid, const void* data);

}  // namespace gpusim
