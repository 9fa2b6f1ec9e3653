// SPDX-License-Identifier: Apache-2.0
//
// Names and figures of the simulated cuDNN's kernels, except convolutions.
//
// INVENTED: the names follow the spelling of real traces, but which kernel the real library would
// choose, its template arguments, block sizes and register counts are not known here.
//
// Context:  application threads
// Owns:     nothing
// Promises: see kernels.hpp
// Not here: convolution names (convolution.cpp)
#include "cudnn/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/work/library_kernel.hpp"
#include "cudnn/api.hpp"

namespace gpusim {
namespace {

/// `%s` in a name is the mangled element type.
struct Row {
  Kernel kernel;
  const char* name;
  std::uint16_t block;
  std::uint32_t per_block;  ///< elements that one block handles
  std::uint16_t registers;
  std::uint32_t static_smem;
};

constexpr Row kRows[] = {
    {Kernel::kNchwToNhwc, "_ZN5cudnn3ops16nchwToNhwcKernelI%sEEvPKT_iiii", 256, 1024, 32, 4352},
    {Kernel::kNhwcToNchw, "_ZN5cudnn3ops16nhwcToNchwKernelI%sEEvPKT_iiii", 256, 1024, 32, 4352},
    {Kernel::kBnForward, "_ZN5cudnn25bn_fw_tr_1C11_kernel_NCHWI%sfLi512ELb1ELi1EEEvPKT_i", 512,
     16384, 48, 8192},
    {Kernel::kBnForwardNhwc, "_ZN5cudnn31batchnorm_fwtr_nhwc_semiPersistI%sfLi1EEEvPKT_i", 512,
     16384, 64, 12288},
    {Kernel::kBnInference, "_ZN5cudnn26bn_fw_inf_1C11_kernel_NCHWI%sfLb1ELi1EEEvPKT_i", 256, 2048,
     28, 0},
    {Kernel::kBnBackward, "_ZN5cudnn21bn_bw_1C11_kernel_newI%sf6float2Li512ELb1ELi1EEEvPKT_i", 512,
     16384, 56, 8192},
    {Kernel::kBnBackwardNhwc, "_ZN5cudnn31batchnorm_bwtr_nhwc_semiPersistI%sfLi1EEEvPKT_i", 512,
     16384, 72, 12288},
    {Kernel::kNormForward, "_ZN5cudnn12norm_fw_warpI%sfLi4EEEvPKT_i", 128, 4096, 48, 0},
    {Kernel::kNormBackward, "_ZN5cudnn12norm_bw_warpI%sfLi4EEEvPKT_i", 128, 4096, 64, 0},
    {Kernel::kBiasGradient, "_ZN5cudnn3ops14bias_grad_kernI%sLi256EEEvPKT_i", 256, 4096, 32, 1024},
    {Kernel::kPointwise, "_ZN5cudnn21fused_pointwise_graphI%sEEvPKT_i", 256, 1024, 32, 0},
    {Kernel::kReduction, "_ZN5cudnn3ops18reduceTensorKernelI%sfLi2EEEvPKT_i", 256, 4096, 32, 1024},
    {Kernel::kMatmul, "cudnn_generated_oneshot_matmul_graph_%s", 256, 16384, 168, 49152},
    {Kernel::kResampleForward, "_ZN5cudnn12resample_fwdI%sfEEvPKT_i", 256, 1024, 32, 0},
    {Kernel::kResampleBackward, "_ZN5cudnn12resample_bwdI%sfEEvPKT_i", 256, 1024, 32, 0},
    {Kernel::kCopy, "_ZN5cudnn3ops13reshapeKernelI%sEEvPKT_i", 256, 1024, 24, 0},
    {Kernel::kSoftmaxForward, "_ZN5cudnn3ops15softmax_fw_kernI%sfLi256EEEvPKT_i", 256, 4096, 32,
     1024},
    {Kernel::kSoftmaxBackward, "_ZN5cudnn3ops15softmax_bw_kernI%sfLi256EEEvPKT_i", 256, 4096, 32,
     1024},
    {Kernel::kPoolingForward, "_ZN5cudnn15pooling_fw_4d_kI%sfLi0EEEvPKT_i", 256, 1024, 40, 0},
    {Kernel::kPoolingBackward, "_ZN5cudnn15pooling_bw_4d_kI%sfLi0EEEvPKT_i", 256, 1024, 40, 0},
    {Kernel::kActivationForward, "_ZN5cudnn13activation_fwI%sfLi1EEEvPKT_i", 256, 1024, 24, 0},
    {Kernel::kActivationBackward, "_ZN5cudnn13activation_bwI%sfLi1EEEvPKT_i", 256, 1024, 28, 0},
    {Kernel::kAddTensor, "_ZN5cudnn3ops17add_tensor_kernelI%sfLi256EEEvPKT_i", 256, 1024, 28, 0},
    {Kernel::kTransform, "_ZN5cudnn3ops18transformTensor_nDI%sEEvPKT_i", 256, 1024, 32, 0},
    {Kernel::kDropoutForward, "_ZN5cudnn10dropout_fwI%sLi256EEEvPKT_i", 256, 1024, 32, 0},
    {Kernel::kDropoutBackward, "_ZN5cudnn10dropout_bwI%sLi256EEEvPKT_i", 256, 1024, 24, 0},
    {Kernel::kDropoutStates, "_ZN5cudnn14seed_generatorI%sEEvPT_yi", 256, 256, 32, 0},
    {Kernel::kCtcAlpha, "_ZN5cudnn14ctc_alpha_betaI%sLi256EEEvPKT_i", 256, 4096, 40, 2048},
    {Kernel::kCtcGradient, "_ZN5cudnn12ctc_gradientI%sLi256EEEvPKT_i", 256, 4096, 32, 0},
    {Kernel::kGridGenerator, "_ZN5cudnn17grid_generator_fwI%sEEvPKT_i", 256, 1024, 24, 0},
    {Kernel::kGridGeneratorBackward, "_ZN5cudnn17grid_generator_bwI%sEEvPKT_i", 256, 1024, 24, 0},
    {Kernel::kSampler, "_ZN5cudnn12grid_samplerI%sLi0EEEvPKT_i", 256, 1024, 40, 0},
    {Kernel::kSamplerBackward, "_ZN5cudnn12grid_samplerI%sLi1EEEvPKT_i", 256, 1024, 48, 0},
    {Kernel::kRnnGemm, "cudnn_rnn_gemm_%s_128x64_tn", 256, 8192, 122, 16384},
    {Kernel::kRnnGemmWeights, "cudnn_rnn_gemm_%s_128x64_nt", 256, 8192, 126, 16384},
    {Kernel::kLstmForward, "_Z19LSTM_elementWise_fpI%sfL14cudnnRNNMode_t2EEvPKT_iii", 256, 256, 38,
     0},
    {Kernel::kLstmBackward, "_Z20LSTM_elementWise_bp1I%sfL14cudnnRNNMode_t2EEvPKT_iii", 256, 256,
     42, 0},
    {Kernel::kGruForward, "_Z18GRU_elementWise_fpI%sfL14cudnnRNNMode_t3EEvPKT_iii", 256, 256, 34,
     0},
    {Kernel::kGruBackward, "_Z19GRU_elementWise_bp1I%sfL14cudnnRNNMode_t3EEvPKT_iii", 256, 256, 40,
     0},
    {Kernel::kRnnForward, "_Z18RNN_elementWise_fpI%sfL14cudnnRNNMode_t1EEvPKT_iii", 256, 256, 24,
     0},
    {Kernel::kRnnBackward, "_Z19RNN_elementWise_bp1I%sfL14cudnnRNNMode_t1EEvPKT_iii", 256, 256, 24,
     0},
    {Kernel::kRnnPersistForward, "_Z19RNN_blockPersist_fpI%sfLi512EEvPKT_iii", 512, 4096, 128,
     65536},
    {Kernel::kRnnPersistBackward, "_Z19RNN_blockPersist_bpI%sfLi512EEvPKT_iii", 512, 4096, 128,
     65536},
    {Kernel::kRnnBiasGradient, "_Z18RNN_bias_gradientsI%sfLi256EEvPKT_iii", 256, 4096, 28, 1024},
    {Kernel::kAttentionForward,
     "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_%s_knob_3_64x128x128_1x1x1", 384, 128,
     168, 0},
    {Kernel::kAttentionBackward,
     "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_%s_knob_3_64x128x128_1x1x1", 384, 128,
     168, 0},
};
static_assert(sizeof(kRows) / sizeof(kRows[0]) == static_cast<std::size_t>(Kernel::kCount));

/// Mangled where the name is mangled, else the spelling used in generated names.
const char* type_name(cudnnDataType_t type, bool mangled) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return mangled ? "6__half" : "f16";
    case CUDNN_DATA_BFLOAT16:
      return mangled ? "13__nv_bfloat16" : "bf16";
    case CUDNN_DATA_DOUBLE:
      return mangled ? "d" : "f64";
    case CUDNN_DATA_FLOAT:
      return mangled ? "f" : "f32";
    default:
      return mangled ? "a" : "i8";
  }
}

}  // namespace

cudnnStatus_t status_of_launch(int cuda_error) {
  if (cuda_error == 0) return CUDNN_STATUS_SUCCESS;
  return failed(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "launch");
}

int math_bits(cudnnDataType_t type, bool fma) {
  const int bits = Tensor::type_bits(type);
  return bits == 32 && !fma ? 19 : bits;
}

KernelWork elementwise(const Tensor& tensor, double passes) {
  return {.type = tensor.type,
          .elements = tensor.elements(),
          .flops = tensor.elements() * passes,
          .bytes = tensor.bytes() * passes};
}

cudnnStatus_t launch(Stream* stream, Kernel kernel, const KernelWork& work) {
  if (stream == nullptr) return status_of_launch(cudaErrorInvalidResourceHandle);
  if (work.elements <= 0) return CUDNN_STATUS_SUCCESS;
  const Row& row = kRows[static_cast<int>(kernel)];
  char name[192];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::snprintf(name, sizeof name, row.name, type_name(work.type, row.name[0] == '_'));
#pragma GCC diagnostic pop
  LibraryKernel k{};
  k.name = name;
  k.grid[0] = static_cast<std::uint32_t>(
      std::clamp(std::ceil(work.elements / row.per_block), 1.0, 2147483647.0));
  k.grid[1] = static_cast<std::uint32_t>(std::clamp(work.rows, 1.0, 65535.0));
  k.grid[2] = static_cast<std::uint32_t>(std::clamp(work.planes, 1.0, 65535.0));
  k.block[0] = row.block;
  k.registers = row.registers;
  k.static_smem = row.static_smem;
  k.flops = work.flops;
  k.peak_tflops = peak_tflops(stream->context->device->model, work.math_bits);
  k.traffic_bytes = work.bytes;
  return status_of_launch(launch_library_kernel(stream, k));
}

}  // namespace gpusim
