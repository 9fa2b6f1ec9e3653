// SPDX-License-Identifier: Apache-2.0
//
// CUPTI entry points: subscriber and callbacks.
//
// Context:  any
// Owns:     nothing; the slot lives in core so that two mapped copies share it
// Promises: one subscriber per process (per client where each has a state of its own); the second
//           hears 39 and, through v2, the holder's name
// Not here: records (activity_api.cpp)
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/config.hpp"
#include "core/hooks.hpp"
#include "cupti/api/call.hpp"
#include "cupti/completion.hpp"
#include "cupti/state.hpp"

using namespace gpusim;

namespace {

std::atomic<std::uint32_t> g_next_subscriber{1};

CUpti_SubscriberHandle handle(std::uint32_t number) {
  return reinterpret_cast<CUpti_SubscriberHandle>(static_cast<std::uintptr_t>(number) << 4);
}

CUptiResult subscribe(CUpti_SubscriberHandle* out, CUpti_CallbackFunc callback, void* user_data,
                      const char* name, const char** holder) {
  if (out == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  ToolSlot& slot = subscriber_slot();
  if (config().slot_taken_by != nullptr) {
    *holder = config().slot_taken_by;
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (slot.taken.exchange(true)) {
    *holder = slot.holder;
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  std::snprintf(slot.holder, sizeof slot.holder, "CUPTI for %.*s", CUPTI_SUBSCRIBER_NAME_MAX_LEN,
                name != nullptr ? name : "unnamed");
  State& s = state();
  s.user_data.store(user_data);
  s.callback.store(callback);
  s.subscriber.store(g_next_subscriber.fetch_add(1));
  *out = handle(s.subscriber.load());
  attach_to_driver();
  return CUPTI_SUCCESS;
}

/// Number of callback ids in a domain.
std::uint32_t domain_size(int domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return CUPTI_DRIVER_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return CUPTI_RUNTIME_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return CUPTI_CBID_RESOURCE_SIZE;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return CUPTI_CBID_SYNCHRONIZE_SIZE;
    case CUPTI_CB_DOMAIN_STATE:
      return CUPTI_CBID_STATE_SIZE;
    case CUPTI_CB_DOMAIN_NVTX:
      return 256;
    default:
      return 0;
  }
}

void set_domain(int domain, std::uint8_t value) {
  for (std::uint32_t i = 1; i < domain_size(domain); ++i)
    state().callback_on[domain][i].store(value);
}

}  // namespace

bool gpusim::is_subscriber(CUpti_SubscriberHandle h) {
  const std::uint32_t current = state().subscriber.load();
  return current != 0 && h == handle(current);
}

extern "C" {

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                    void* userdata) {
  ApiEntry call(GPUSIM_CALLER, "cuptiSubscribe", Requirement::kDriver, LogLevel::kNormal, " ");
  return call.run([&] {
    const char* holder = nullptr;
    return subscribe(subscriber, callback, userdata, nullptr, &holder);
  });
}

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber,
                                       CUpti_CallbackFunc callback, void* userdata,
                                       CUpti_SubscriberParams* pParams) {
  const char* name = pParams != nullptr ? pParams->subscriberName : nullptr;
  ApiEntry call(GPUSIM_CALLER, "cuptiSubscribe_v2", Requirement::kDriver, LogLevel::kNormal,
                "name=%s", name != nullptr ? name : "");
  return call.run([&] {
    if (pParams != nullptr && pParams->structSize == 0) return CUPTI_ERROR_INVALID_PARAMETER;
    const char* holder = nullptr;
    const CUptiResult result = subscribe(subscriber, callback, userdata, name, &holder);
    if (holder != nullptr && pParams != nullptr && pParams->oldSubscriberName != nullptr)
      std::snprintf(pParams->oldSubscriberName, pParams->oldSubscriberSize, "%s", holder);
    return result;
  });
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  ApiEntry call(GPUSIM_CALLER, "cuptiUnsubscribe", Requirement::kDriver, LogLevel::kNormal, " ");
  return call.run([&] {
    if (!is_subscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
    State& s = state();
    s.callback.store(nullptr);
    s.subscriber.store(0);
    for (int d = 0; d < kDomains; ++d) set_domain(d, 0);
    subscriber_slot().taken.store(false);
    after_shutdown();
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  ApiEntry call(GPUSIM_CALLER, "cuptiEnableCallback", Requirement::kDriver, LogLevel::kNormal,
                "enable=%u domain=%d cbid=%u", enable, domain, cbid);
  return call.run([&] {
    if (!is_subscriber(subscriber) || cbid == 0 || cbid >= domain_size(domain))
      return CUPTI_ERROR_INVALID_PARAMETER;
    state().callback_on[domain][cbid].store(enable != 0 ? 1 : 0);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain) {
  ApiEntry call(GPUSIM_CALLER, "cuptiEnableDomain", Requirement::kDriver, LogLevel::kNormal,
                "enable=%u domain=%d", enable, domain);
  return call.run([&] {
    if (!is_subscriber(subscriber) || domain_size(domain) == 0)
      return CUPTI_ERROR_INVALID_PARAMETER;
    set_domain(domain, enable != 0 ? 1 : 0);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  ApiEntry call(GPUSIM_CALLER, "cuptiEnableAllDomains", Requirement::kDriver, LogLevel::kNormal,
                "enable=%u", enable);
  return call.run([&] {
    if (!is_subscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
    for (int d = 0; d < kDomains; ++d) set_domain(d, enable != 0 ? 1 : 0);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                           CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetCallbackState", Requirement::kDriver, LogLevel::kNormal,
                "domain=%d cbid=%u", domain, cbid);
  return call.run([&] {
    if (enable == nullptr || !is_subscriber(subscriber) || cbid >= domain_size(domain))
      return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = state().callback_on[domain][cbid].load();
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiSupportedDomains(size_t* domainCount, CUpti_DomainTable* domainTable) {
  static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                           CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_SYNCHRONIZE};
  ApiEntry call(GPUSIM_CALLER, "cuptiSupportedDomains", Requirement::kNothing, LogLevel::kNormal,
                " ");
  return call.run([&] {
    if (domainCount == nullptr || domainTable == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *domainCount = sizeof domains / sizeof domains[0];
    *domainTable = domains;
    return CUPTI_SUCCESS;
  });
}

}  // extern "C"
