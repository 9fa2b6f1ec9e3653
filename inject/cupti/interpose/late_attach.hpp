// SPDX-License-Identifier: Apache-2.0
//
// For a process that used CUDA before us: its callers of CUPTI are routed through our wrappers, a
// profiler of its own that runs already is detected, and what can no longer be known is reported.
//
// Context:  worker; driver_is_late: any
// Owns:     the replaced slots of the wrappers (got/patches.hpp)
// Promises: queries nothing where this library was preloaded and InitializeInjection was called
// Not here: the wrappers (interpose.cpp), detaching (release.cpp)
#pragma once

#include "inject/cupti/subscribe/cupti_state.hpp"
#include "inject/got/patches.hpp"

namespace gpuprof::cupti {

/// The functions of exports.txt and what replaces them (interpose.cpp).
extern const got::Replacement kWrappers[];

/// Whether the driver was running before anything of ours was notified of it.
bool driver_is_late();

/// Routes calls from newly loaded modules through the wrappers. Worker, without the component's
/// lock.
void hook_cupti_callers();
void unhook_cupti_callers();

/// Before we take the slot: whether a session of the program runs, which may have taken none.
/// True: it is in state.program now, and nothing may be switched.
bool detect_running_session(CuptiState& state, std::uint64_t now_ns);

/// Notices the end of a session that was detected. Under the component's lock.
void watch_detected_session(CuptiState& state);

/// Registers the flush at the program's end, where InitializeInjection did not. Once CUPTI works.
void register_exit_flush();

/// Reports once per session what recording cannot contain because it began late.
void report_late_attach(CuptiState& state);

}  // namespace gpuprof::cupti
