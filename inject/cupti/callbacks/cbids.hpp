// SPDX-License-Identifier: Apache-2.0
//
// Which API functions we listen to and keep records of: one list per domain, by CUPTI's ids.
//
// Context:  any (constants)
// Promises: per-thread-stream twins (_ptsz, _ptds) stand beside their plain form; an id that the
//           opened library does not know is tolerated
// Not here: switching them on (activity_kinds.cpp), what a callback does (api_callback.cpp)
#pragma once

#include <cupti.h>

#include <cstdint>

namespace gpuprof::cupti {

/// What a function does, as far as it matters here.
enum class CallClass : std::uint8_t {
  kNone,
  kKernel,      // launches one kernel: the callback carries its name
  kGraph,       // launches a graph
  kTransfer,    // copies, sets, prefetches
  kMemory,      // allocates or frees
  kSync,        // the host waits
  kEvent,       // event records and stream waits: a row, no launch
  kCapture,     // from here on launches may go into a graph
  kCaptureEnd,  // and no more
};

struct CallId {
  std::uint16_t cbid;
  CallClass call_class;
};

// One name, and the same with the suffix of the per-thread default stream.
#define GPUPROF_RT(name, kind) \
  { CUPTI_RUNTIME_TRACE_CBID_##name, CallClass::kind }
#define GPUPROF_DR(name, kind) \
  { CUPTI_DRIVER_TRACE_CBID_##name, CallClass::kind }

inline constexpr CallId kRuntimeCalls[] = {
    GPUPROF_RT(cudaLaunch_v3020, kKernel),
    GPUPROF_RT(cudaLaunch_ptsz_v7000, kKernel),
    GPUPROF_RT(cudaLaunchKernel_v7000, kKernel),
    GPUPROF_RT(cudaLaunchKernel_ptsz_v7000, kKernel),
    GPUPROF_RT(__cudaLaunchKernel_v13000, kKernel),
    GPUPROF_RT(__cudaLaunchKernel_ptsz_v13000, kKernel),
    GPUPROF_RT(cudaLaunchKernelExC_v11060, kKernel),
    GPUPROF_RT(cudaLaunchKernelExC_ptsz_v11060, kKernel),
    GPUPROF_RT(cudaLaunchCooperativeKernel_v9000, kKernel),
    GPUPROF_RT(cudaLaunchCooperativeKernel_ptsz_v9000, kKernel),
    GPUPROF_RT(cudaLaunchCooperativeKernelMultiDevice_v9000, kKernel),
    GPUPROF_RT(cudaGraphLaunch_v10000, kGraph),
    GPUPROF_RT(cudaGraphLaunch_ptsz_v10000, kGraph),
    GPUPROF_RT(cudaMemcpy_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy2D_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy2D_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy2DAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy2DAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy3D_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy3D_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy3DAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy3DAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyPeer_v4000, kTransfer),
    GPUPROF_RT(cudaMemcpyPeerAsync_v4000, kTransfer),
    GPUPROF_RT(cudaMemcpy3DPeer_v4000, kTransfer),
    GPUPROF_RT(cudaMemcpy3DPeer_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy3DPeerAsync_v4000, kTransfer),
    GPUPROF_RT(cudaMemcpy3DPeerAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyToSymbol_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyToSymbol_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyFromSymbol_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyFromSymbol_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyToSymbolAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyToSymbolAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyFromSymbolAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyFromSymbolAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyToArray_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyToArray_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy2DToArray_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy2DToArray_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyFromArray_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyFromArray_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy2DFromArray_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy2DFromArray_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyArrayToArray_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyArrayToArray_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy2DArrayToArray_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy2DArrayToArray_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyToArrayAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyToArrayAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyFromArrayAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpyFromArrayAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy2DToArrayAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy2DToArrayAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpy2DFromArrayAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemcpy2DFromArrayAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemcpyBatchAsync_v12080, kTransfer),
    GPUPROF_RT(cudaMemcpyBatchAsync_ptsz_v12080, kTransfer),
    GPUPROF_RT(cudaMemcpy3DBatchAsync_v12080, kTransfer),
    GPUPROF_RT(cudaMemcpy3DBatchAsync_ptsz_v12080, kTransfer),
    GPUPROF_RT(cudaMemcpyBatchAsync_v13000, kTransfer),
    GPUPROF_RT(cudaMemcpyBatchAsync_ptsz_v13000, kTransfer),
    GPUPROF_RT(cudaMemcpy3DBatchAsync_v13000, kTransfer),
    GPUPROF_RT(cudaMemcpy3DBatchAsync_ptsz_v13000, kTransfer),
    GPUPROF_RT(cudaMemset_v3020, kTransfer),
    GPUPROF_RT(cudaMemset_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemset2D_v3020, kTransfer),
    GPUPROF_RT(cudaMemset2D_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemset3D_v3020, kTransfer),
    GPUPROF_RT(cudaMemset3D_ptds_v7000, kTransfer),
    GPUPROF_RT(cudaMemsetAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemsetAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemset2DAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemset2DAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemset3DAsync_v3020, kTransfer),
    GPUPROF_RT(cudaMemset3DAsync_ptsz_v7000, kTransfer),
    GPUPROF_RT(cudaMemPrefetchAsync_v8000, kTransfer),
    GPUPROF_RT(cudaMemPrefetchAsync_ptsz_v8000, kTransfer),
    GPUPROF_RT(cudaMemPrefetchAsync_v12020, kTransfer),
    GPUPROF_RT(cudaMemPrefetchAsync_ptsz_v12020, kTransfer),
    GPUPROF_RT(cudaMalloc_v3020, kMemory),
    GPUPROF_RT(cudaFree_v3020, kMemory),
    GPUPROF_RT(cudaMallocPitch_v3020, kMemory),
    GPUPROF_RT(cudaMalloc3D_v3020, kMemory),
    GPUPROF_RT(cudaMallocArray_v3020, kMemory),
    GPUPROF_RT(cudaFreeArray_v3020, kMemory),
    GPUPROF_RT(cudaMallocHost_v3020, kMemory),
    GPUPROF_RT(cudaHostAlloc_v3020, kMemory),
    GPUPROF_RT(cudaFreeHost_v3020, kMemory),
    GPUPROF_RT(cudaMallocManaged_v6000, kMemory),
    GPUPROF_RT(cudaMallocAsync_v11020, kMemory),
    GPUPROF_RT(cudaMallocAsync_ptsz_v11020, kMemory),
    GPUPROF_RT(cudaMallocFromPoolAsync_v11020, kMemory),
    GPUPROF_RT(cudaMallocFromPoolAsync_ptsz_v11020, kMemory),
    GPUPROF_RT(cudaFreeAsync_v11020, kMemory),
    GPUPROF_RT(cudaFreeAsync_ptsz_v11020, kMemory),
    GPUPROF_RT(cudaThreadSynchronize_v3020, kSync),
    GPUPROF_RT(cudaDeviceSynchronize_v3020, kSync),
    GPUPROF_RT(cudaStreamSynchronize_v3020, kSync),
    GPUPROF_RT(cudaStreamSynchronize_ptsz_v7000, kSync),
    GPUPROF_RT(cudaEventSynchronize_v3020, kSync),
    GPUPROF_RT(cudaEventRecord_v3020, kEvent),
    GPUPROF_RT(cudaEventRecord_ptsz_v7000, kEvent),
    GPUPROF_RT(cudaEventRecordWithFlags_v11010, kEvent),
    GPUPROF_RT(cudaEventRecordWithFlags_ptsz_v11010, kEvent),
    GPUPROF_RT(cudaStreamWaitEvent_v3020, kEvent),
    GPUPROF_RT(cudaStreamWaitEvent_ptsz_v7000, kEvent),
    GPUPROF_RT(cudaLaunchHostFunc_v10000, kEvent),
    GPUPROF_RT(cudaLaunchHostFunc_ptsz_v10000, kEvent),
    GPUPROF_RT(cudaStreamBeginCapture_v10000, kCapture),
    GPUPROF_RT(cudaStreamBeginCapture_ptsz_v10000, kCapture),
    GPUPROF_RT(cudaStreamBeginCaptureToGraph_v12030, kCapture),
    GPUPROF_RT(cudaStreamBeginCaptureToGraph_ptsz_v12030, kCapture),
    GPUPROF_RT(cudaStreamEndCapture_v10000, kCaptureEnd),
    GPUPROF_RT(cudaStreamEndCapture_ptsz_v10000, kCaptureEnd),
};

inline constexpr CallId kDriverCalls[] = {
    GPUPROF_DR(cuLaunch, kKernel),
    GPUPROF_DR(cuLaunchGrid, kKernel),
    GPUPROF_DR(cuLaunchGridAsync, kKernel),
    GPUPROF_DR(cuLaunchKernel, kKernel),
    GPUPROF_DR(cuLaunchKernel_ptsz, kKernel),
    GPUPROF_DR(cuLaunchKernelEx, kKernel),
    GPUPROF_DR(cuLaunchKernelEx_ptsz, kKernel),
    GPUPROF_DR(cuLaunchCooperativeKernel, kKernel),
    GPUPROF_DR(cuLaunchCooperativeKernel_ptsz, kKernel),
    GPUPROF_DR(cuLaunchCooperativeKernelMultiDevice, kKernel),
    GPUPROF_DR(cuGraphLaunch, kGraph),
    GPUPROF_DR(cuGraphLaunch_ptsz, kGraph),
    GPUPROF_DR(cuMemcpy, kTransfer),
    GPUPROF_DR(cuMemcpy_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyAsync, kTransfer),
    GPUPROF_DR(cuMemcpyAsync_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpyHtoD_v2, kTransfer),
    GPUPROF_DR(cuMemcpyHtoD_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyDtoH_v2, kTransfer),
    GPUPROF_DR(cuMemcpyDtoH_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyDtoD_v2, kTransfer),
    GPUPROF_DR(cuMemcpyDtoD_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyHtoDAsync_v2, kTransfer),
    GPUPROF_DR(cuMemcpyHtoDAsync_v2_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpyDtoHAsync_v2, kTransfer),
    GPUPROF_DR(cuMemcpyDtoHAsync_v2_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpyDtoDAsync_v2, kTransfer),
    GPUPROF_DR(cuMemcpyDtoDAsync_v2_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpyDtoA_v2, kTransfer),
    GPUPROF_DR(cuMemcpyDtoA_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyAtoD_v2, kTransfer),
    GPUPROF_DR(cuMemcpyAtoD_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyHtoA_v2, kTransfer),
    GPUPROF_DR(cuMemcpyHtoA_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyAtoH_v2, kTransfer),
    GPUPROF_DR(cuMemcpyAtoH_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyAtoA_v2, kTransfer),
    GPUPROF_DR(cuMemcpyAtoA_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyHtoAAsync_v2, kTransfer),
    GPUPROF_DR(cuMemcpyHtoAAsync_v2_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpyAtoHAsync_v2, kTransfer),
    GPUPROF_DR(cuMemcpyAtoHAsync_v2_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpy2D_v2, kTransfer),
    GPUPROF_DR(cuMemcpy2D_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpy2DUnaligned_v2, kTransfer),
    GPUPROF_DR(cuMemcpy2DUnaligned_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpy2DAsync_v2, kTransfer),
    GPUPROF_DR(cuMemcpy2DAsync_v2_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpy3D_v2, kTransfer),
    GPUPROF_DR(cuMemcpy3D_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemcpy3DAsync_v2, kTransfer),
    GPUPROF_DR(cuMemcpy3DAsync_v2_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpyPeer, kTransfer),
    GPUPROF_DR(cuMemcpyPeer_ptds, kTransfer),
    GPUPROF_DR(cuMemcpyPeerAsync, kTransfer),
    GPUPROF_DR(cuMemcpyPeerAsync_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpy3DPeer, kTransfer),
    GPUPROF_DR(cuMemcpy3DPeer_ptds, kTransfer),
    GPUPROF_DR(cuMemcpy3DPeerAsync, kTransfer),
    GPUPROF_DR(cuMemcpy3DPeerAsync_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpyBatchAsync, kTransfer),
    GPUPROF_DR(cuMemcpyBatchAsync_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpyBatchAsync_v2, kTransfer),
    GPUPROF_DR(cuMemcpyBatchAsync_v2_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpy3DBatchAsync, kTransfer),
    GPUPROF_DR(cuMemcpy3DBatchAsync_ptsz, kTransfer),
    GPUPROF_DR(cuMemcpy3DBatchAsync_v2, kTransfer),
    GPUPROF_DR(cuMemcpy3DBatchAsync_v2_ptsz, kTransfer),
    GPUPROF_DR(cuMemsetD8_v2, kTransfer),
    GPUPROF_DR(cuMemsetD8_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemsetD16_v2, kTransfer),
    GPUPROF_DR(cuMemsetD16_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemsetD32_v2, kTransfer),
    GPUPROF_DR(cuMemsetD32_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemsetD2D8_v2, kTransfer),
    GPUPROF_DR(cuMemsetD2D8_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemsetD2D16_v2, kTransfer),
    GPUPROF_DR(cuMemsetD2D16_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemsetD2D32_v2, kTransfer),
    GPUPROF_DR(cuMemsetD2D32_v2_ptds, kTransfer),
    GPUPROF_DR(cuMemsetD8Async, kTransfer),
    GPUPROF_DR(cuMemsetD8Async_ptsz, kTransfer),
    GPUPROF_DR(cuMemsetD16Async, kTransfer),
    GPUPROF_DR(cuMemsetD16Async_ptsz, kTransfer),
    GPUPROF_DR(cuMemsetD32Async, kTransfer),
    GPUPROF_DR(cuMemsetD32Async_ptsz, kTransfer),
    GPUPROF_DR(cuMemsetD2D8Async, kTransfer),
    GPUPROF_DR(cuMemsetD2D8Async_ptsz, kTransfer),
    GPUPROF_DR(cuMemsetD2D16Async, kTransfer),
    GPUPROF_DR(cuMemsetD2D16Async_ptsz, kTransfer),
    GPUPROF_DR(cuMemsetD2D32Async, kTransfer),
    GPUPROF_DR(cuMemsetD2D32Async_ptsz, kTransfer),
    GPUPROF_DR(cuMemAlloc_v2, kMemory),
    GPUPROF_DR(cuMemAllocPitch_v2, kMemory),
    GPUPROF_DR(cuMemFree_v2, kMemory),
    GPUPROF_DR(cuMemAllocHost_v2, kMemory),
    GPUPROF_DR(cuMemHostAlloc_v2, kMemory),
    GPUPROF_DR(cuMemFreeHost, kMemory),
    GPUPROF_DR(cuMemAllocManaged, kMemory),
    GPUPROF_DR(cuMemAllocAsync, kMemory),
    GPUPROF_DR(cuMemAllocAsync_ptsz, kMemory),
    GPUPROF_DR(cuMemAllocFromPoolAsync, kMemory),
    GPUPROF_DR(cuMemAllocFromPoolAsync_ptsz, kMemory),
    GPUPROF_DR(cuMemFreeAsync, kMemory),
    GPUPROF_DR(cuMemFreeAsync_ptsz, kMemory),
    GPUPROF_DR(cuCtxSynchronize, kSync),
    GPUPROF_DR(cuCtxSynchronize_v2, kSync),
    GPUPROF_DR(cuStreamSynchronize, kSync),
    GPUPROF_DR(cuStreamSynchronize_ptsz, kSync),
    GPUPROF_DR(cuEventSynchronize, kSync),
    GPUPROF_DR(cuEventRecord, kEvent),
    GPUPROF_DR(cuEventRecord_ptsz, kEvent),
    GPUPROF_DR(cuEventRecordWithFlags, kEvent),
    GPUPROF_DR(cuEventRecordWithFlags_ptsz, kEvent),
    GPUPROF_DR(cuStreamWaitEvent, kEvent),
    GPUPROF_DR(cuStreamWaitEvent_ptsz, kEvent),
    GPUPROF_DR(cuLaunchHostFunc, kEvent),
    GPUPROF_DR(cuLaunchHostFunc_ptsz, kEvent),
    GPUPROF_DR(cuStreamBeginCapture, kCapture),
    GPUPROF_DR(cuStreamBeginCapture_ptsz, kCapture),
    GPUPROF_DR(cuStreamBeginCapture_v2, kCapture),
    GPUPROF_DR(cuStreamBeginCapture_v2_ptsz, kCapture),
    GPUPROF_DR(cuStreamBeginCaptureToGraph, kCapture),
    GPUPROF_DR(cuStreamBeginCaptureToGraph_ptsz, kCapture),
    GPUPROF_DR(cuStreamEndCapture, kCaptureEnd),
    GPUPROF_DR(cuStreamEndCapture_ptsz, kCaptureEnd),
};
#undef GPUPROF_RT
#undef GPUPROF_DR

/// Ids beyond this are ignored.
inline constexpr std::uint32_t kMaxCbid = 2048;

/// Class by id, for both domains; filled at compile time.
struct CallTable {
  CallClass of_id[kMaxCbid] = {};

  constexpr CallClass of(std::uint32_t cbid) const {
    return cbid < kMaxCbid ? of_id[cbid] : CallClass::kNone;
  }
};

template <std::size_t N>
constexpr CallTable make_call_table(const CallId (&calls)[N]) {
  CallTable table;
  for (const CallId& call : calls) table.of_id[call.cbid] = call.call_class;
  return table;
}

inline constexpr CallTable kRuntimeTable = make_call_table(kRuntimeCalls);
inline constexpr CallTable kDriverTable = make_call_table(kDriverCalls);

}  // namespace gpuprof::cupti
