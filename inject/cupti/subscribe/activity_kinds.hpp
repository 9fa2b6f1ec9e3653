// SPDX-License-Identifier: Apache-2.0
//
// One activity kind, and its switch.
//
// Context:  worker | boundary, under the component's lock
#pragma once

#include "inject/cupti/subscribe/cupti_state.hpp"

namespace gpuprof::cupti {

struct KindRow {
  CUpti_ActivityKind kind;
  bool device_work;         // a record of work on the device
  bool dump;                // a snapshot of what exists already is wanted
  const char* description;  // for the notice when CUPTI refuses it
};

/// @return Whether it is on now. Reports why not, where work on the device is lost.
bool enable_kind(CuptiState& state, const KindRow& row);
void disable_kind(CuptiState& state, std::uint32_t kind);

}  // namespace gpuprof::cupti
