// SPDX-License-Identifier: Apache-2.0
//
// The real CUPTI function behind one of our wrappers: in the copy the caller would have reached.
//
// Context:  boundary (application threads, inside a call of theirs)
// Promises: never returns one of our wrappers
// Not here: what happens before and after the call (program_profiler.cpp)
#pragma once

namespace gpuprof::cupti {

/// @param name   The function's name. @param caller A return address in the calling object.
/// @param ours   Our wrapper of that name.
/// @return       Null if no copy of CUPTI can be found.
void* real_function(const char* name, void* caller, void* ours);

/// Whether the call came from inside a copy of CUPTI (its own calls go through its own PLT).
bool is_called_by_cupti(void* caller);

}  // namespace gpuprof::cupti
