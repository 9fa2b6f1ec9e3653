// SPDX-License-Identifier: Apache-2.0
//
// The size of every record in every emulated release.
//
// Context:  any
// Owns:     nothing
// Promises: 13.0 is checked against the headers by layout.cpp, 13.2 by compare_layout.cpp; 11.8,
//           12.4 and 12.9 come from the release notes; `future` is made up
// Not here: what is written into a record (records.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include <cupti.h>

#include "core/config.hpp"

namespace gpusim {

/// One kind. 0 where a release does not know it.
struct Row {
  std::uint32_t kind;
  std::uint16_t bytes[6];  ///< 11.8, 12.4, 12.9, 13.0, 13.2, future
};

inline constexpr Row kRows[] = {
    {CUPTI_ACTIVITY_KIND_MEMCPY, {88, 88, 96, 96, 96, 112}},
    {CUPTI_ACTIVITY_KIND_MEMSET, {88, 88, 88, 88, 88, 104}},
    {CUPTI_ACTIVITY_KIND_KERNEL, {200, 208, 208, 216, 224, 256}},
    {CUPTI_ACTIVITY_KIND_DRIVER, {40, 40, 40, 40, 40, 48}},
    {CUPTI_ACTIVITY_KIND_RUNTIME, {40, 40, 40, 40, 40, 48}},
    {CUPTI_ACTIVITY_KIND_DEVICE, {176, 184, 184, 184, 192, 200}},
    {CUPTI_ACTIVITY_KIND_CONTEXT, {16, 24, 32, 32, 40, 48}},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, {200, 208, 208, 216, 224, 256}},
    {CUPTI_ACTIVITY_KIND_NAME, {32, 32, 32, 32, 32, 32}},
    {CUPTI_ACTIVITY_KIND_MARKER, {56, 56, 56, 56, 56, 64}},
    {CUPTI_ACTIVITY_KIND_MARKER_DATA, {32, 32, 32, 40, 40, 48}},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, {40, 56, 56, 56, 56, 64}},
    {CUPTI_ACTIVITY_KIND_CDP_KERNEL, {144, 144, 144, 144, 144, 152}},
    {CUPTI_ACTIVITY_KIND_PREEMPTION, {40, 40, 40, 40, 40, 48}},
    {CUPTI_ACTIVITY_KIND_ENVIRONMENT, {40, 40, 40, 40, 40, 48}},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, {96, 96, 96, 96, 96, 112}},
    {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, {64, 64, 104, 104, 104, 112}},
    {CUPTI_ACTIVITY_KIND_FUNCTION, {32, 32, 32, 32, 32, 40}},
    {CUPTI_ACTIVITY_KIND_MODULE, {24, 24, 24, 24, 24, 32}},
    {CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE, {24, 24, 24, 24, 24, 32}},
    {CUPTI_ACTIVITY_KIND_OPENACC_DATA, {152, 152, 152, 152, 152, 160}},
    {CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, {152, 152, 152, 152, 152, 160}},
    {CUPTI_ACTIVITY_KIND_OPENACC_OTHER, {120, 120, 120, 120, 120, 128}},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, {24, 24, 56, 56, 56, 64}},
    {CUPTI_ACTIVITY_KIND_STREAM, {24, 24, 24, 24, 24, 32}},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, {40, 40, 56, 56, 56, 64}},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, {24, 24, 24, 24, 24, 32}},
    {CUPTI_ACTIVITY_KIND_NVLINK, {136, 136, 136, 136, 88, 96}},
    {CUPTI_ACTIVITY_KIND_MEMORY, {80, 80, 80, 80, 80, 88}},
    {CUPTI_ACTIVITY_KIND_PCIE, {168, 168, 168, 168, 168, 176}},
    {CUPTI_ACTIVITY_KIND_OPENMP, {40, 40, 40, 40, 40, 48}},
    {CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, {40, 40, 40, 40, 40, 48}},
    {CUPTI_ACTIVITY_KIND_MEMORY2, {120, 120, 128, 128, 128, 136}},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, {72, 72, 72, 80, 80, 88}},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, {48, 56, 56, 56, 56, 64}},
    {CUPTI_ACTIVITY_KIND_JIT, {64, 72, 72, 72, 72, 80}},
    {CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE, {0, 56, 56, 56, 56, 64}},
    {CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS, {0, 0, 64, 64, 64, 72}},
    {CUPTI_ACTIVITY_KIND_CONFIDENTIAL_COMPUTE_ROTATION, {0, 0, 0, 32, 32, 40}},
    {56, {0, 0, 0, 0, 56, 64}},    // GRAPH_HOST_NODE
    {57, {0, 0, 0, 0, 24, 32}},    // COMPUTE_ENGINE_CTX_SWITCH
    {58, {0, 0, 0, 0, 48, 56}},    // HOST_LAUNCH
    {59, {0, 0, 0, 0, 168, 176}},  // GREEN_CONTEXT
    {kFutureKind, {0, 0, 0, 0, 0, 48}},
};

/// Bytes of a record of `kind` in a release, 0 if it does not know the kind.
constexpr std::size_t record_bytes(std::uint32_t kind, Layout layout) {
  for (const Row& r : kRows)
    if (r.kind == kind) return r.bytes[static_cast<int>(layout)];
  return 0;
}

}  // namespace gpusim
