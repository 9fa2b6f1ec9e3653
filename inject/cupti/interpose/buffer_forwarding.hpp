// SPDX-License-Identifier: Apache-2.0
//
// The program's own buffer callbacks, called by ours where CUPTI may still have buffers of ours:
// CUPTI keeps one pair, and returns every buffer to it, whoever supplied it.
//
// Context:  worker | boundary; what CUPTI calls: callback
// Owns:     the program's pair, as it registered it last
// Promises: a buffer goes back to whoever it came from: the program never sees one of ours; no lock
// Not here: when the program's pair is restored (program_profiler.cpp)
#pragma once

#include "inject/cupti/library/api.hpp"

namespace gpuprof::cupti {

using RegisterCallbacks = decltype(&cuptiActivityRegisterCallbacks);

/// Called before ours are registered by this function: from now on its copy of CUPTI may have
/// buffers of ours.
void set_own_copy(RegisterCallbacks copy);

/// For the program: registers its pair by `copy`. CUPTI checks the arguments as always.
CUptiResult register_for_program(RegisterCallbacks copy, CUpti_BuffersCallbackRequestFunc requested,
                                 CUpti_BuffersCallbackCompleteFunc completed);

/// Puts its pair into force again, if it registered one with this copy. False: it did not.
bool restore_program_registration(RegisterCallbacks copy);
bool has_program_callbacks(RegisterCallbacks copy);

/// CUPTI has forgotten its pair, or we no longer see what it registers.
void clear_program_callbacks();

}  // namespace gpuprof::cupti
