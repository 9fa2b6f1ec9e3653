// SPDX-License-Identifier: Apache-2.0
//
// The answer of every function that a fake does not implement.
//
// Context:  application threads
// Owns:     nothing
// Promises: a refusal never crashes; each name is said once a process and stands in the truth log
// Not here: which functions those are (cmake/generate_refusals.py)
#pragma once

extern "C" {

/// Logs that `name` was called and returns the library's own "not supported" code
/// (GPUSIM_REFUSAL_CODE when this library was compiled). Hand-written functions that refuse a
/// particular use call it too.
__attribute__((visibility("hidden"))) int gpusim_refuse(const char* name);

/// The library this copy is linked into, for example "cudart". Generated.
__attribute__((visibility("hidden"))) extern const char* const gpusim_library_name;
}
