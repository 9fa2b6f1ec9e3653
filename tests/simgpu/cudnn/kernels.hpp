// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the simulated cuDNN that are no convolutions, and how one is launched.
//
// Context:  application threads
// Owns:     nothing
// Promises: the same work always gets the same name, grid and block
// Not here: convolutions (convolution.hpp)
#pragma once

#include <cudnn.h>

#include "cudnn/tensor.hpp"

namespace gpusim {

struct Stream;

/// One row each in the table of kernels.cpp.
enum class Kernel : std::uint8_t {
  kNchwToNhwc,
  kNhwcToNchw,
  kBnForward,
  kBnForwardNhwc,
  kBnInference,
  kBnBackward,
  kBnBackwardNhwc,
  kNormForward,
  kNormBackward,
  kBiasGradient,
  kPointwise,
  kReduction,
  kMatmul,
  kResampleForward,
  kResampleBackward,
  kCopy,
  kSoftmaxForward,
  kSoftmaxBackward,
  kPoolingForward,
  kPoolingBackward,
  kActivationForward,
  kActivationBackward,
  kAddTensor,
  kTransform,
  kDropoutForward,
  kDropoutBackward,
  kDropoutStates,
  kCtcAlpha,
  kCtcGradient,
  kGridGenerator,
  kGridGeneratorBackward,
  kSampler,
  kSamplerBackward,
  kRnnGemm,
  kRnnGemmWeights,
  kLstmForward,
  kLstmBackward,
  kGruForward,
  kGruBackward,
  kRnnForward,
  kRnnBackward,
  kRnnPersistForward,
  kRnnPersistBackward,
  kRnnBiasGradient,
  kAttentionForward,
  kAttentionBackward,
  kCount,
};

/// How much a kernel does.
struct KernelWork {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  double elements = 0;  ///< decides the first dimension of the grid
  double flops = 0;
  double bytes = 0;  ///< read and written
  int math_bits = 32;
  double rows = 1, planes = 1;  ///< the other dimensions of the grid
};

/// Launches `kernel` on `stream`; work without elements launches nothing.
cudnnStatus_t launch(Stream* stream, Kernel kernel, const KernelWork& work);

/// Work of a kernel that reads and writes tensors of this shape `passes` times in all.
KernelWork elementwise(const Tensor& tensor, double passes);

/// Width of matrix arithmetic on a type: 16, 19 (TF32), 32 or 64. `fma` forbids TF32.
int math_bits(cudnnDataType_t type, bool fma);

/// CUDNN_STATUS_SUCCESS, or CUDNN_STATUS_EXECUTION_FAILED_CUDART for a cudaError_t value.
cudnnStatus_t status_of_launch(int cuda_error);

}  // namespace gpusim
