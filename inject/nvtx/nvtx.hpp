// SPDX-License-Identifier: Apache-2.0
//
// NVTX v3 injection: fills the caller's export table with our handlers.
//
// Context:  initialize: boundary (any thread, many times); set_step_pattern, tick: worker
// Owns:     the domain and registered-string tables (fixed size, never freed)
// Promises: works without CUDA and without a daemon; handlers are callback context
#pragma once

#include <cstdint>

namespace gpuprof::nvtx {

/// Body of InitializeInjectionNvtx2. Returns 1 to be kept, 0 if the table cannot be used.
int initialize(void* get_export_table);

/// True once any component of the process has asked for NVTX.
bool is_in_use();

/// nvtx:NAME of the step source; NAME may hold * and ?; empty: none.
void set_step_pattern(const char* name);

/// Sends names of domains first seen since the last call.
void tick();

/// Releases NVTX: tables that were filled late are empty again; copies that looked for us
/// themselves find handlers that do nothing. The next tick() with something on begins anew. Worker.
void release();

}  // namespace gpuprof::nvtx
