// SPDX-License-Identifier: Apache-2.0
//
// CUPTI functions of the program that pass through us first: by name when the library is preloaded,
// else through the program's own tables (late_attach.cpp).
//
// Context:  boundary (application threads)
// Owns:     nothing
// Promises: arguments and results unchanged, but for buffer callbacks (buffer_forwarding.hpp); our
//           own calls never come here (they go through the table of api.hpp)
// Not here: why each is wrapped (exports.txt)
#include "inject/cupti/interpose/buffer_forwarding.hpp"
#include "inject/cupti/interpose/late_attach.hpp"
#include "inject/cupti/interpose/program_profiler.hpp"
#include "inject/cupti/interpose/real_function.hpp"

namespace {

using namespace gpuprof::cupti;

// The version is none of ours to report: the caller sees what CUPTI says when it is not there.
constexpr CUptiResult kAbsent = CUPTI_ERROR_NOT_INITIALIZED;

template <typename F>
F real(const char* name, void* caller, F ours) {
  return reinterpret_cast<F>(real_function(name, caller, reinterpret_cast<void*>(ours)));
}

}  // namespace

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI
// Expands in the wrapper itself, whose return address is the caller's.
#define GPUPROF_REAL(name)                          \
  void* const caller = __builtin_return_address(0); \
  const auto forward = real(#name, caller, &name);  \
  if (forward == nullptr) return kAbsent

GPUPROF_EXPORT cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                              void* user) {
  GPUPROF_REAL(cuptiSubscribe);
  if (is_called_by_cupti(caller)) return forward(subscriber, callback, user);
  yield_cupti(ProgramCall::kSubscribe);
  const CUptiResult result = forward(subscriber, callback, user);
  on_program_subscribed(result == CUPTI_SUCCESS, SubscribeVersion::kV1);
  return result;
}

GPUPROF_EXPORT cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                 void* user, CUpti_SubscriberParams* params) {
  GPUPROF_REAL(cuptiSubscribe_v2);
  if (is_called_by_cupti(caller)) return forward(subscriber, callback, user, params);
  yield_cupti(ProgramCall::kSubscribe);
  const CUptiResult result = forward(subscriber, callback, user, params);
  on_program_subscribed(result == CUPTI_SUCCESS, SubscribeVersion::kV2);
  return result;
}

GPUPROF_EXPORT cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  GPUPROF_REAL(cuptiUnsubscribe);
  const CUptiResult result = forward(subscriber);
  if (!is_called_by_cupti(caller)) on_program_unsubscribed(result == CUPTI_SUCCESS);
  return result;
}

GPUPROF_EXPORT cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                              CUpti_BuffersCallbackCompleteFunc completed) {
  GPUPROF_REAL(cuptiActivityRegisterCallbacks);
  if (is_called_by_cupti(caller)) return forward(requested, completed);
  yield_cupti(ProgramCall::kActivity);
  const CUptiResult result = register_for_program(forward, requested, completed);
  if (result == CUPTI_SUCCESS) on_program_registered();
  return result;
}

GPUPROF_EXPORT cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
  GPUPROF_REAL(cuptiActivityRegisterTimestampCallback);
  // Our pending records are in the old clock: they must be out before it changes.
  if (!is_called_by_cupti(caller)) yield_cupti(ProgramCall::kActivity);
  return forward(timestamp);
}

GPUPROF_EXPORT cuptiActivityEnable(CUpti_ActivityKind kind) {
  GPUPROF_REAL(cuptiActivityEnable);
  if (is_called_by_cupti(caller)) return forward(kind);
  yield_cupti(ProgramCall::kActivity);
  const CUptiResult result = forward(kind);
  on_program_enabled(static_cast<std::uint32_t>(kind), result == CUPTI_SUCCESS);
  return result;
}

GPUPROF_EXPORT cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  GPUPROF_REAL(cuptiActivityEnableAndDump);
  if (is_called_by_cupti(caller)) return forward(kind);
  yield_cupti(ProgramCall::kActivity);
  const CUptiResult result = forward(kind);
  on_program_enabled(static_cast<std::uint32_t>(kind), result == CUPTI_SUCCESS);
  return result;
}

GPUPROF_EXPORT cuptiActivityDisable(CUpti_ActivityKind kind) {
  GPUPROF_REAL(cuptiActivityDisable);
  const CUptiResult result = forward(kind);
  if (!is_called_by_cupti(caller)) on_program_disabled(static_cast<std::uint32_t>(kind));
  return result;
}

GPUPROF_EXPORT cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  GPUPROF_REAL(cuptiSetThreadIdType);
  const CUptiResult result = forward(type);
  if (result == CUPTI_SUCCESS && !is_called_by_cupti(caller)) on_program_set_thread_ids();
  return result;
}

GPUPROF_EXPORT cuptiActivityFlushAll(std::uint32_t flag) {
  GPUPROF_REAL(cuptiActivityFlushAll);
  const CUptiResult result = forward(flag);
  if (!is_called_by_cupti(caller)) on_program_flushed();
  return result;
}

GPUPROF_EXPORT cuptiFinalize(void) {
  GPUPROF_REAL(cuptiFinalize);
  if (is_called_by_cupti(caller)) return forward();
  yield_cupti(ProgramCall::kSubscribe);
  const CUptiResult result = forward();
  on_program_finalized();
  return result;
}

namespace gpuprof::cupti {

#define GPUPROF_ROW(name) \
  { #name, reinterpret_cast < void*>(&::name), false }
const got::Replacement kWrappers[] = {
    GPUPROF_ROW(cuptiSubscribe),
    GPUPROF_ROW(cuptiSubscribe_v2),
    GPUPROF_ROW(cuptiUnsubscribe),
    GPUPROF_ROW(cuptiActivityRegisterCallbacks),
    GPUPROF_ROW(cuptiActivityRegisterTimestampCallback),
    GPUPROF_ROW(cuptiActivityEnable),
    GPUPROF_ROW(cuptiActivityEnableAndDump),
    GPUPROF_ROW(cuptiActivityDisable),
    GPUPROF_ROW(cuptiSetThreadIdType),
    GPUPROF_ROW(cuptiActivityFlushAll),
    GPUPROF_ROW(cuptiFinalize),
    {},
};

}  // namespace gpuprof::cupti
