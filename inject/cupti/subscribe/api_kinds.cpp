// SPDX-License-Identifier: Apache-2.0
//
// See api_kinds.hpp.
//
// Context:  worker | boundary, under the component's lock
// Owns:     nothing
#include "inject/cupti/subscribe/api_kinds.hpp"

#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/notice_queue.hpp"
#include "inject/cupti/subscribe/activity_kinds.hpp"
#include "inject/messages/cupti.hpp"

namespace gpuprof::cupti {

namespace {

constexpr std::uint64_t kSilentNs = 500'000'000;

void enable_api_kinds(CuptiState& state) {
  enable_kind(state, {CUPTI_ACTIVITY_KIND_RUNTIME, true, false, "CUDA runtime calls"});
  enable_kind(state, {CUPTI_ACTIVITY_KIND_DRIVER, true, false, "CUDA driver calls"});
}

/// Whether the first of these turns, which began a silence, is half a second old.
bool long_since(std::uint64_t* since_ns, std::uint64_t now_ns) {
  if (*since_ns == 0) *since_ns = now_ns;
  return elapsed_ns(now_ns, *since_ns) >= kSilentNs;
}

// A thread that waits in a call has entered it; one that makes its next call has left the one
// before. A program that neither calls nor waits while work runs that it enqueued before looks
// silent, and the kinds cost it nothing.
bool is_silent(ApiCallWatch& watch, const ApiCallWatch& before, std::uint64_t now_ns) {
  const bool called = watch.unreturned != before.unreturned, ran = watch.kernels != before.kernels;
  const bool none_open = watch.launches - watch.returns == watch.never_returned;
  const bool not_left = called && long_since(&watch.called_ns, now_ns);
  const bool not_entered = ran && none_open && long_since(&watch.ran_ns, now_ns);
  return watch.silent || not_left || not_entered;
}

}  // namespace

void disable_api_kinds(CuptiState& state) {
  disable_kind(state, CUPTI_ACTIVITY_KIND_RUNTIME);
  disable_kind(state, CUPTI_ACTIVITY_KIND_DRIVER);
}

void update_api_kinds(CuptiState& state) {
  g_callback_state.drop_api.store(!state.settings.calls, std::memory_order_relaxed);
  if (state.settings.calls &&
      (state.subscriber_state != SubscriberState::kOurs || state.call_watch.silent))
    enable_api_kinds(state);
  else if (!has_hazard(g_callback_state.api.version, Hazard::kKernelKindStays))
    disable_api_kinds(state);
}

void watch_api_calls(CuptiState& state, std::uint64_t now_ns) {
  const ApiCallWatch before = state.call_watch;
  ApiCallWatch& watch = state.call_watch;
  watch.launches = launch_count();
  watch.returns = g_callback_state.returns.load(std::memory_order_relaxed);
  watch.unreturned = g_callback_state.unreturned.load(std::memory_order_relaxed);
  watch.kernels = g_callback_state.kernel_records.load(std::memory_order_relaxed);
  const bool watched =
      state.recording && state.settings.calls && state.subscriber_state == SubscriberState::kOurs;
  if (!watched || watch.returns != before.returns) watch.called_ns = watch.ran_ns = 0;
  if (!watched) watch.never_returned = watch.launches - watch.returns;
  watch.silent = watched && watch.returns == before.returns && is_silent(watch, before, now_ns);
  if (watch.silent == before.silent || !state.recording) return;
  update_api_kinds(state);
  queue_fact("cupti_calls", "%s",
             watch.silent ? messages::cupti::kCallsByKind : messages::cupti::kCallsByCallback);
}

}  // namespace gpuprof::cupti
