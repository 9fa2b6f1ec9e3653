// SPDX-License-Identifier: Apache-2.0
//
// See call_list.hpp.
//
// Context:  worker | boundary
// Owns:     nothing
#include "inject/cupti/callbacks/call_list.hpp"

#include <cstring>

namespace gpuprof::cupti {

constinit CallTable g_newer_calls[2];

namespace {

CallClass class_by_name(const char* name) {
  struct Word {
    const char* part;
    CallClass call_class;
  };
  static constexpr Word kWords[] = {
      {"GraphLaunch", CallClass::kGraph},        {"LaunchKernel", CallClass::kKernel},
      {"LaunchCooperative", CallClass::kKernel}, {"Memcpy", CallClass::kTransfer},
      {"Memset", CallClass::kTransfer},          {"Prefetch", CallClass::kTransfer},
      {"Synchronize", CallClass::kSync}};
  if (std::strstr(name, "GraphAdd") != nullptr || std::strstr(name, "Node") != nullptr)
    return CallClass::kNone;
  for (const Word& word : kWords)
    if (std::strstr(name, word.part) != nullptr) return word.call_class;
  return CallClass::kNone;
}

void learn(CUpti_CallbackDomain domain, std::uint32_t from, CallTable* table) {
  const char* name = nullptr;
  for (std::uint32_t cbid = from; cbid < kMaxCbid; ++cbid) {
    if (g_callback_state.api.cuptiGetCallbackName(domain, cbid, &name) != CUPTI_SUCCESS ||
        name == nullptr)
      return;
    table->of_id[cbid] = class_by_name(name);
  }
}

}  // namespace

void learn_newer_calls() {
  if (g_callback_state.api.cuptiGetCallbackName == nullptr) return;
  learn(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE, &g_newer_calls[0]);
  learn(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE, &g_newer_calls[1]);
}

}  // namespace gpuprof::cupti
