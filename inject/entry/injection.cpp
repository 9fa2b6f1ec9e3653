// SPDX-License-Identifier: Apache-2.0
//
// The entry points of the CUDA driver and of NVTX.
//
// Context:  boundary
// Promises: both may be called many times and concurrently
#include <stdlib.h>

#include <atomic>

#include "gpuprof/wire/messages.hpp"
#include "inject/agent/agent.hpp"
#include "inject/nvtx/nvtx.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {
// NVTX comes once per component; only the first is worth waiting for.
constexpr unsigned kNvtxWaitMs = 200;
std::atomic<bool> g_exit_hook{false};
}  // namespace

/// Called by libcuda inside cuInit of this process (CUDA_INJECTION64_PATH). Always 1: kept.
GPUPROF_EXPORT int InitializeInjection(void) {
  // Registered here and not in the constructor: handlers run in reverse order, and this one must
  // run before the driver's own.
  if (!g_exit_hook.exchange(true)) atexit(gpuprof::agent::before_exit);
  gpuprof::agent::on_cuda_initialised();
  return 1;
}

/// Called by each NVTX v3 header copy at its first call (NVTX_INJECTION64_PATH).
/// Returns 1 if its table was filled.
GPUPROF_EXPORT int InitializeInjectionNvtx2(void* get_export_table) {
  const bool first = !gpuprof::nvtx::is_in_use();
  const int kept = gpuprof::nvtx::initialize(get_export_table);
  gpuprof::agent::wake(gpuprof::wire::kWakeNvtx);
  if (first) gpuprof::agent::wait_ready(kNvtxWaitMs);
  return kept;
}
