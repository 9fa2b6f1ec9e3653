// SPDX-License-Identifier: Apache-2.0
//
// The API functions of interest, including those newer than our headers.
//
// Context:  class_of: any; the rest: worker | boundary
// Owns:     the table of the newer ones
// Promises: the table is full before the first callback and the first record
#pragma once

#include "gpuprof/wire/records.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/callbacks/cbids.hpp"

namespace gpuprof::cupti {

/// Functions newer than our headers, by domain: 0 the runtime's, 1 the driver's.
extern CallTable g_newer_calls[2];

/// Classifies them by their names. Once CUPTI is open.
void learn_newer_calls();

inline CallClass class_of(wire::ApiDomain domain, std::uint32_t cbid) {
  const bool runtime = domain == wire::ApiDomain::kRuntime;
  const CallClass known = (runtime ? kRuntimeTable : kDriverTable).of(cbid);
  return known != CallClass::kNone ? known : g_newer_calls[runtime ? 0 : 1].of(cbid);
}

/// Calls f(domain, cbid, class) for each function of our list, and for those newer than it.
template <typename F>
void for_each_call(F f) {
  for (const CallId& call : kRuntimeCalls)
    f(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, call.call_class);
  for (const CallId& call : kDriverCalls) f(CUPTI_CB_DOMAIN_DRIVER_API, call.cbid, call.call_class);
  for (std::uint32_t cbid = 0; cbid < kMaxCbid; ++cbid) {
    const CallClass runtime = g_newer_calls[0].of(cbid), driver = g_newer_calls[1].of(cbid);
    if (runtime != CallClass::kNone) f(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, runtime);
    if (driver != CallClass::kNone) f(CUPTI_CB_DOMAIN_DRIVER_API, cbid, driver);
  }
}

}  // namespace gpuprof::cupti
