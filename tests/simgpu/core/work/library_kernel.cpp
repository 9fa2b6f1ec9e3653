// SPDX-License-Identifier: Apache-2.0
//
// Launching for libraries.
//
// Context:  application threads
// Owns:     nothing
// Promises: see library_kernel.hpp
// Not here: durations (timeline.cpp)
#include "core/work/library_kernel.hpp"

#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>

#include <algorithm>
#include <utility>

#include "core/api_scope.hpp"
#include "core/driver.hpp"
#include "core/work/stream_queue.hpp"
#include "core/work/timeline.hpp"

namespace gpusim {
namespace {

DeviceOp describe(const LibraryKernel& k) {
  DeviceOp op{};
  op.kind = OpKind::kKernel;
  op.async = true;
  op.name = intern(k.name);
  op.registers = k.registers;
  op.static_smem = k.static_smem;
  op.dynamic_smem = k.dynamic_smem;
  for (int i = 0; i < 3; ++i) {
    op.grid[i] = std::max(1u, k.grid[i]);
    op.block[i] = std::max(1u, k.block[i]);
    op.cluster[i] = k.cluster[i];
  }
  op.flops = k.flops;
  op.peak_tflops = k.peak_tflops;
  op.traffic_bytes = k.traffic_bytes;
  op.length_ns = k.length_ns;
  return op;
}

}  // namespace

int launch_library_kernel(Stream* stream, const LibraryKernel& kernel,
                          std::unique_ptr<Rendezvous> rendezvous) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  DeviceOp op = describe(kernel);
  cudaLaunchConfig_t config{};
  config.gridDim = {op.grid[0], op.grid[1], op.grid[2]};
  config.blockDim = {op.block[0], op.block[1], op.block[2]};
  config.dynamicSmemBytes = op.dynamic_smem;
  config.stream = reinterpret_cast<cudaStream_t>(stream);
  const cudaLaunchKernelExC_v11060_params params{&config, nullptr, nullptr};
  ApiScope scope(ApiDomain::kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
                 "cudaLaunchKernelExC", &params, op.name);
  return scope.finish(rendezvous != nullptr ? submit(stream, op, std::move(rendezvous))
                                            : submit(stream, op));
}

int launch_library_kernel(Stream* stream, const LibraryKernel& kernel) {
  return launch_library_kernel(stream, kernel, nullptr);
}

double peak_tflops(const DeviceModel& model, int bits) {
  struct Row {
    int major;
    double bits8, bits16, tf32, bits32, bits64;
  };
  constexpr Row kRows[] = {
      {9, 1979, 989, 495, 67, 67}, {8, 624, 312, 156, 19.5, 19.5}, {7, 63, 125, 15.7, 15.7, 7.8}};
  for (const Row& r : kRows) {
    if (r.major != model.cc_major) continue;
    if (bits <= 8) return r.bits8;
    if (bits <= 16) return r.bits16;
    if (bits == 19) return r.tf32;
    return bits <= 32 ? r.bits32 : r.bits64;
  }
  return 10;
}

}  // namespace gpusim
