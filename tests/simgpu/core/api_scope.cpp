// SPDX-License-Identifier: Apache-2.0
//
// Implementation of the frame around API calls.
//
// Context:  application threads
// Owns:     nothing
// Promises: the configured cost is burnt inside the reported interval
// Not here: CUPTI records
#include "core/api_scope.hpp"

#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/driver.hpp"
#include "core/hooks.hpp"
#include "core/truth.hpp"

namespace gpusim {
namespace {
thread_local std::uint32_t t_correlation;
}

ApiScope::ApiScope(ApiDomain domain, std::uint32_t cbid, const char* name, const void* params,
                   const char* symbol)
    : call_{}, outer_(t_correlation) {
  Context* context = current_context();
  call_.domain = domain;
  call_.cbid = cbid;
  call_.name = name;
  call_.params = params;
  call_.symbol = symbol;
  call_.context = context;
  call_.context_uid = context != nullptr ? context->id : 0;
  call_.correlation = driver().next_correlation.fetch_add(1, std::memory_order_relaxed);
  if (call_.correlation == 0) call_.correlation = driver().next_correlation.fetch_add(1);
  if (const ToolHooks* h = hooks()) {
    call_.reported = true;
    h->api_enter(call_);
  }
  t_correlation = call_.correlation;
  call_.start_ns = now_ns();
  if (config().api_cost_ns != 0) spin_until(call_.start_ns + config().api_cost_ns);
}

int ApiScope::finish(int result) {
  call_.end_ns = now_ns();
  call_.result = result;
  t_correlation = outer_;
  if (call_.reported) hooks()->api_exit(call_);
  if (truth_on()) truth_api(call_);
  return result;
}

std::uint32_t current_correlation() { return t_correlation; }

}  // namespace gpusim
