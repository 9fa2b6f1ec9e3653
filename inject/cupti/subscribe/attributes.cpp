// SPDX-License-Identifier: Apache-2.0
//
// See attributes.hpp.
//
// Context:  worker | boundary, under the component's lock
// Owns:     nothing
#include "inject/cupti/subscribe/attributes.hpp"

#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/interpose/program_profiler.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"

namespace gpuprof::cupti {

namespace {

bool read(CUpti_ActivityAttribute attribute, std::uint8_t* value) {
  std::size_t bytes = sizeof *value;
  return g_callback_state.api.cuptiActivityGetAttribute(attribute, &bytes, value) == CUPTI_SUCCESS;
}
void write(CUpti_ActivityAttribute attribute, std::uint8_t value) {
  std::size_t bytes = sizeof value;
  g_callback_state.api.cuptiActivitySetAttribute(attribute, &bytes, &value);
}

void set(SavedAttribute& one, CUpti_ActivityAttribute attribute, std::uint8_t value) {
  std::uint8_t now = value;
  // Set by us before, and not put back: `before` still holds.
  if (read(attribute, &now) && now != value) one = {true, now};
  write(attribute, value);
}

void put_back(SavedAttribute& one, CUpti_ActivityAttribute attribute, std::uint8_t ours) {
  std::uint8_t now = ours;
  if (one.changed && read(attribute, &now) && now == ours) write(attribute, one.before);
  one.changed = false;
}

std::uint8_t per_thread_buffers() {
  return has_hazard(g_callback_state.api.version, Hazard::kPerThreadUnsafe) ? 0 : 1;
}

void set_thread_ids(CuptiState& state) {
  constexpr CUpti_ActivityThreadIdType kOurs = CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  const Api& api = g_callback_state.api;
  if (api.cuptiSetThreadIdType == nullptr) return;
  CUpti_ActivityThreadIdType now = kOurs;
  if (api.cuptiGetThreadIdType != nullptr && api.cuptiGetThreadIdType(&now) == CUPTI_SUCCESS &&
      now != kOurs)
    state.saved_attributes.thread_ids = {true, static_cast<std::uint8_t>(now)};
  api.cuptiSetThreadIdType(kOurs);
}

void put_back_thread_ids(CuptiState& state) {
  SavedAttribute& one = state.saved_attributes.thread_ids;
  if (one.changed && !program_chose_thread_ids())
    g_callback_state.api.cuptiSetThreadIdType(static_cast<CUpti_ActivityThreadIdType>(one.before));
  one.changed = false;
}

}  // namespace

bool set_attributes(CuptiState& state) {
  set_thread_ids(state);
  bool per_thread = false;
  if (knows_per_thread_buffers(g_callback_state.api.version)) {
    per_thread = per_thread_buffers() != 0;
    set(state.saved_attributes.per_thread, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER,
        per_thread_buffers());
  }
  set(state.saved_attributes.zeroed, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
  return per_thread;
}

void limit_sync_records(CuptiState& state) {
  if (g_callback_state.api.cuptiActivityEnableAllSyncRecords == nullptr) return;
  g_callback_state.api.cuptiActivityEnableAllSyncRecords(0);
  state.saved_attributes.waits_cut = true;
}

void restore_attributes(CuptiState& state) {
  SavedAttributes& all = state.saved_attributes;
  put_back(all.zeroed, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
  // Nobody can ask how it was: as CUPTI begins.
  if (all.waits_cut) g_callback_state.api.cuptiActivityEnableAllSyncRecords(1);
  all.waits_cut = false;
  put_back_thread_ids(state);
  // It must not change while a kind is on.
  if (state.kinds != 0) return;
  put_back(all.per_thread, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, per_thread_buffers());
}

}  // namespace gpuprof::cupti
