// SPDX-License-Identifier: Apache-2.0
//
// The program under test of the simulator tests: a few driver calls.
//
// Context:  tests
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

namespace gpuprof::cupti {

/// One context, one stream, two kernels, a pair of buffers.
class SimProgram {
 public:
  SimProgram() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUmodule module{};
    EXPECT_EQ(cuModuleLoadData(&module, "simulated"), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&first_, module, "_ZN3sim5firstEPfi"), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&second_, module, "_ZN3sim6secondIfEEvPT_i"), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&event_, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&a_, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&b_, kBytes), CUDA_SUCCESS);
  }

  void launch(int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(cuLaunchKernel(i % 2 == 0 ? first_ : second_, 64, 2, 1, 128, 1, 1, 256, stream_,
                               nullptr, nullptr),
                CUDA_SUCCESS);
  }
  void copy() { ASSERT_EQ(cuMemcpyDtoD(a_, b_, kBytes), CUDA_SUCCESS); }
  void set() { ASSERT_EQ(cuMemsetD8Async(a_, 7, kBytes, stream_), CUDA_SUCCESS); }
  void mark() { ASSERT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS); }
  void refused() {
    ASSERT_EQ(cuLaunchKernel(first_, 0, 0, 0, 0, 0, 0, 0, stream_, nullptr, nullptr),
              CUDA_ERROR_INVALID_VALUE);
  }
  void wait() { ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS); }
  void graph(int nodes, int times) {
    CUgraph graph{};
    CUgraphExec exec{};
    ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    launch(nodes);
    ASSERT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    for (int i = 0; i < times; ++i) ASSERT_EQ(cuGraphLaunch(exec, stream_), CUDA_SUCCESS);
  }

  static constexpr std::size_t kBytes = 1 << 20;

 private:
  CUcontext context_{};
  CUstream stream_{};
  CUevent event_{};
  CUfunction first_{}, second_{};
  CUdeviceptr a_{}, b_{};
};

}  // namespace gpuprof::cupti
