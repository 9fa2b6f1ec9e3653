// SPDX-License-Identifier: Apache-2.0
//
// Records of API calls by CUPTI: two whole kinds, on only where our own callbacks
// (api_callback.cpp) are not called.
//
// Context:  worker | boundary, under the component's lock
// Promises: off while callbacks are called: a whole kind costs every call of the program a quarter
//           of a microsecond, even calls of functions that were not requested
// Not here: which functions are of interest (callbacks/cbids.hpp); what stays missing is reported
//           by the daemon, which sees what arrives
#pragma once

#include "inject/cupti/subscribe/cupti_state.hpp"

namespace gpuprof::cupti {

/// Switches them as the settings and the slot require. Where a kind once on stays on, its records
/// are dropped instead.
void update_api_kinds(CuptiState& state);
void disable_api_kinds(CuptiState& state);

/// Switches them on where kernels are recorded but nothing is seen of their calls for half a
/// second, and off once something is again. Each turn.
void watch_api_calls(CuptiState& state, std::uint64_t now_ns);

}  // namespace gpuprof::cupti
