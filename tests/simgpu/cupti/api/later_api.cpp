// SPDX-License-Identifier: Apache-2.0
//
// CUPTI entry points that came with 13.2, declared as its headers have them.
//
// Context:  any
// Owns:     nothing
// Promises: they see the one subscriber there can be; the multi-subscriber calls of 13.2 (_v2) are
//           refused by name
// Not here: what the headers of 13.0 declare (query_api.cpp)
#include "cupti/api/call.hpp"
#include "cupti/layout.hpp"
#include "cupti/state.hpp"

using namespace gpusim;

namespace {

/// Lists the numbers below `limit` that are wanted: copies what fits, counts all.
template <typename T, typename Wanted>
CUptiResult list(std::uint32_t limit, T* buffer, const std::uint32_t* size, std::uint32_t* count,
                 Wanted wanted) {
  if (count == nullptr || (buffer != nullptr && size == nullptr))
    return CUPTI_ERROR_INVALID_PARAMETER;
  *count = 0;
  for (std::uint32_t i = 1; i < limit; ++i) {
    if (!wanted(i)) continue;
    if (buffer != nullptr && *count < *size) buffer[*count] = static_cast<T>(i);
    ++*count;
  }
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiActivityGetStructSize(CUpti_ActivityKind activityKind, uint32_t version,
                                                size_t* activityStructSize) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityGetStructSize", Requirement::kNothing,
                LogLevel::kNormal, "kind=%d version=%u", activityKind, version);
  return call.run([&] {
    if (activityStructSize == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (version != 0 && version < 130000) return CUPTI_ERROR_NOT_SUPPORTED;
    const std::size_t bytes =
        version == 0 ? record_size(activityKind) : record_size_in(activityKind, version);
    if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    *activityStructSize = bytes;
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiIsTracingSessionRunning(uint8_t* isRunning) {
  ApiEntry call(GPUSIM_CALLER, "cuptiIsTracingSessionRunning", Requirement::kNothing,
                LogLevel::kNormal, " ");
  return call.run([&] {
    if (isRunning == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    bool any = false;
    for (const auto& k : state().kinds) any = any || k.load();
    *isRunning = any ? 1 : 0;
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiActivityGetEnabledKinds(CUpti_SubscriberHandle subscriber,
                                                  CUpti_ActivityKind* buffer, uint32_t* bufferSize,
                                                  uint32_t* enabledKindsCount) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityGetEnabledKinds", Requirement::kNothing,
                LogLevel::kNormal, " ");
  return call.run([&] {
    if (subscriber != nullptr && !is_subscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
    return list(kMaxKind, buffer, bufferSize, enabledKindsCount,
                [](std::uint32_t kind) { return kind_on(kind); });
  });
}

CUptiResult CUPTIAPI cuptiGetEnabledCallbacks(CUpti_SubscriberHandle subscriber,
                                              CUpti_CallbackDomain domain, CUpti_CallbackId* buffer,
                                              uint32_t* bufferSize,
                                              uint32_t* enabledCallbacksCount) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetEnabledCallbacks", Requirement::kNothing, LogLevel::kNormal,
                "domain=%d", domain);
  return call.run([&] {
    if ((subscriber != nullptr && !is_subscriber(subscriber)) ||
        domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE)
      return CUPTI_ERROR_INVALID_PARAMETER;
    return list(kMaxCbid, buffer, bufferSize, enabledCallbacksCount,
                [&](std::uint32_t cbid) { return state().callback_on[domain][cbid].load() != 0; });
  });
}

}  // extern "C"
