// SPDX-License-Identifier: Apache-2.0
//
// Being in a process that used CUDA before us: its callers of CUPTI are led through our wrappers,
// a profiler of its own that runs already is found, and what cannot be known any more is said.
//
// Context:  worker; driver_is_late: any
// Owns:     the replaced slots of the wrappers (got/patches.hpp)
// Promises: asks nobody where this library was preloaded and InitializeInjection came
// Not here: the wrappers (interpose.cpp), detaching (release.cpp)
#pragma once

#include "inject/cupti/subscribe/cupti_state.hpp"
#include "inject/got/patches.hpp"

namespace gpuprof::cupti {

/// The functions of exports.txt and what stands in for them (interpose.cpp).
extern const got::Replacement kWrappers[];

/// The driver was running before anything of ours was notified of it.
bool driver_is_late();

/// Leads calls of modules that have come through the wrappers. Worker, without the component's
/// lock.
void hook_cupti_callers();
void unhook_cupti_callers();

/// Before we take the slot: whether a session of the program runs, which may have taken none.
/// True: it is in state.program now, and nothing may be switched.
bool detect_running_session(CuptiState& state, std::uint64_t now_ns);

/// Notices the end of one that was joined. Under the component's lock.
void watch_detected_session(CuptiState& state);

/// The flush at the program's end, where InitializeInjection did not see to it. Once CUPTI works.
void register_exit_flush();

/// Says once a session what recording cannot have, having begun late.
void report_late_attach(CuptiState& state);

}  // namespace gpuprof::cupti
