// SPDX-License-Identifier: Apache-2.0
//
// The launch that both cudaLaunchKernel and nvcc's newer stubs end in.
//
// Context:  application threads
// Owns:     nothing
// Promises: one cudaLaunchKernel call record
// Not here: checks (core/work/kernels.cpp)
#pragma once

#include <driver_types.h>
#include <vector_types.h>

#include <cstddef>

namespace gpusim {

/// cudaLaunchKernel.
cudaError_t launch_stub(const void* function, dim3 grid, dim3 block, void** args,
                        std::size_t dynamic_smem, cudaStream_t stream);

}  // namespace gpusim
