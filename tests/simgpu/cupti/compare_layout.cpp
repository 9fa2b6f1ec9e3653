// SPDX-License-Identifier: Apache-2.0
//
// Holds the 13.2 layout against the CUPTI headers that PyTorch's CUDA 13.2 packages bring.
//
// Context:  compiled only, where these headers are installed
// Owns:     nothing
// Promises: does not compile if a size or an offset differs
// Not here: the same for 13.0 (layout.cpp)
#include <cupti.h>

#include "cupti/layout.hpp"
#include "cupti/layout_rows.hpp"

namespace gpusim {

constexpr bool is(std::uint32_t kind, std::size_t bytes) {
  return record_bytes(kind, Layout::k13_2) == bytes;
}

static_assert(CUPTI_API_VERSION / 100 == 1302);
static_assert(is(CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6)));
static_assert(is(CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4)));
static_assert(is(CUPTI_ACTIVITY_KIND_KERNEL, sizeof(CUpti_ActivityKernel11)));
static_assert(is(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel11)));
static_assert(is(CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI)));
static_assert(is(CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI)));
static_assert(is(CUPTI_ACTIVITY_KIND_DEVICE, sizeof(CUpti_ActivityDevice6)));
static_assert(is(CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(CUpti_ActivityContext4)));
static_assert(is(CUPTI_ACTIVITY_KIND_NAME, sizeof(CUpti_ActivityName)));
static_assert(is(CUPTI_ACTIVITY_KIND_MARKER, sizeof(CUpti_ActivityMarker2)));
static_assert(is(CUPTI_ACTIVITY_KIND_MARKER_DATA, sizeof(CUpti_ActivityMarkerData2)));
static_assert(is(CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(CUpti_ActivityOverhead3)));
static_assert(is(CUPTI_ACTIVITY_KIND_CDP_KERNEL, sizeof(CUpti_ActivityCdpKernel)));
static_assert(is(CUPTI_ACTIVITY_KIND_PREEMPTION, sizeof(CUpti_ActivityPreemption)));
static_assert(is(CUPTI_ACTIVITY_KIND_ENVIRONMENT, sizeof(CUpti_ActivityEnvironment)));
static_assert(is(CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4)));
static_assert(is(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
                 sizeof(CUpti_ActivityUnifiedMemoryCounter3)));
static_assert(is(CUPTI_ACTIVITY_KIND_FUNCTION, sizeof(CUpti_ActivityFunction)));
static_assert(is(CUPTI_ACTIVITY_KIND_MODULE, sizeof(CUpti_ActivityModule)));
static_assert(is(CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE, sizeof(CUpti_ActivityDeviceAttribute)));
static_assert(is(CUPTI_ACTIVITY_KIND_OPENACC_DATA, sizeof(CUpti_ActivityOpenAccData)));
static_assert(is(CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, sizeof(CUpti_ActivityOpenAccLaunch)));
static_assert(is(CUPTI_ACTIVITY_KIND_OPENACC_OTHER, sizeof(CUpti_ActivityOpenAccOther)));
static_assert(is(CUPTI_ACTIVITY_KIND_CUDA_EVENT, sizeof(CUpti_ActivityCudaEvent2)));
static_assert(is(CUPTI_ACTIVITY_KIND_STREAM, sizeof(CUpti_ActivityStream)));
static_assert(is(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(CUpti_ActivitySynchronization2)));
static_assert(is(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                 sizeof(CUpti_ActivityExternalCorrelation)));
static_assert(is(CUPTI_ACTIVITY_KIND_NVLINK, sizeof(CUpti_ActivityNvLink5)));
static_assert(is(CUPTI_ACTIVITY_KIND_MEMORY, sizeof(CUpti_ActivityMemory)));
static_assert(is(CUPTI_ACTIVITY_KIND_PCIE, sizeof(CUpti_ActivityPcie)));
static_assert(is(CUPTI_ACTIVITY_KIND_OPENMP, sizeof(CUpti_ActivityOpenMp)));
static_assert(is(CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, sizeof(CUpti_ActivityAPI)));
static_assert(is(CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(CUpti_ActivityMemory4)));
static_assert(is(CUPTI_ACTIVITY_KIND_MEMORY_POOL, sizeof(CUpti_ActivityMemoryPool3)));
static_assert(is(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(CUpti_ActivityGraphTrace2)));
static_assert(is(CUPTI_ACTIVITY_KIND_JIT, sizeof(CUpti_ActivityJit2)));
static_assert(is(CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE, sizeof(CUpti_ActivityDeviceGraphTrace)));
static_assert(is(CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS, sizeof(CUpti_ActivityMemDecompress)));
static_assert(is(CUPTI_ACTIVITY_KIND_CONFIDENTIAL_COMPUTE_ROTATION,
                 sizeof(CUpti_ActivityConfidentialComputeRotation)));
static_assert(is(CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE, sizeof(CUpti_ActivityGraphHostNode)));
static_assert(is(CUPTI_ACTIVITY_KIND_COMPUTE_ENGINE_CTX_SWITCH,
                 sizeof(CUpti_ActivityComputeEngineCtxSwitch)));
static_assert(is(CUPTI_ACTIVITY_KIND_HOST_LAUNCH, sizeof(CUpti_ActivityHostLaunch)));
static_assert(is(CUPTI_ACTIVITY_KIND_GREEN_CONTEXT, sizeof(CUpti_ActivityGreenContext2)));

static_assert(offsetof(CUpti_ActivityKernel11, priority) == kKernelPriorityAt);
static_assert(offsetof(CUpti_ActivityContext4, processId) == kContextProcessIdAt);
static_assert(offsetof(CUpti_ActivityDevice6, numTpcs) == kDeviceTpcsAt);
static_assert(kFutureKind > CUPTI_ACTIVITY_KIND_GREEN_CONTEXT);

}  // namespace gpusim
