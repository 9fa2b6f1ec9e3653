// SPDX-License-Identifier: Apache-2.0
//
// What the names of kernels, operators and calls tell.
//
// Context:  any
#include <algorithm>
#include <array>

#include "analysis/report/aggregation/gpu_tables.hpp"
#include "analysis/report/timeline/name_heuristics.hpp"

namespace gpuprof::report {

bool uses_tensor_cores(std::string_view kernel) {
  // The first nineteen are those TensorBoard's PyTorch plugin knows; the others came with Hopper.
  constexpr std::array<std::string_view, 23> kParts = {"h884",
                                                       "s884",
                                                       "h1688",
                                                       "s1688",
                                                       "hmma",
                                                       "i8816",
                                                       "16816",
                                                       "dgrad_1x1_stride_2x2",
                                                       "first_layer_wgrad_kernel",
                                                       "conv1x1",
                                                       "conv2d_c1_k1",
                                                       "direct_group",
                                                       "xmma_implicit_gemm",
                                                       "xmma_sparse_conv",
                                                       "xmma_warp_specialized_implicit_gemm",
                                                       "xmma_gemm",
                                                       "xmma_sparse_gemm",
                                                       "c1688",
                                                       "tensorop",
                                                       "nvjet_",
                                                       "gmma",
                                                       "flash_fwd_kernel",
                                                       "flash_bwd_"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return kernel.find(part) != std::string_view::npos;
  });
}

bool is_tensor_core_eligible(std::string_view op) {
  constexpr std::array<std::string_view, 37> kAten = {
      "_convolution",
      "conv1d",
      "conv2d",
      "conv3d",
      "conv_tbc",
      "conv_transpose1d",
      "conv_transpose2d",
      "conv_transpose3d",
      "convolution",
      "cudnn_convolution",
      "cudnn_convolution_transpose",
      "prelu",
      "addmm",
      "addmm_",
      "addmv",
      "addr",
      "matmul",
      "mm",
      "mv",
      "linear",
      "addbmm",
      "baddbmm",
      "bmm",
      "chain_matmul",
      "linalg_multi_dot",
      "_thnn_fused_lstm_cell",
      "_thnn_fused_gru_cell",
      "lstm_cell",
      "gru_cell",
      "rnn_tanh_cell",
      "rnn_relu_cell",
      "cudnn_convolution_backward",
      "cudnn_convolution_backward_input",
      "cudnn_convolution_backward_weight",
      "cudnn_convolution_transpose_backward",
      "cudnn_convolution_transpose_backward_input",
      "cudnn_convolution_transpose_backward_weight"};
  constexpr std::array<std::string_view, 8> kNodes = {"CudnnConvolutionBackward",
                                                      "CudnnConvolutionTransposeBackward",
                                                      "BmmBackward0",
                                                      "MmBackward",
                                                      "AddmvBackward",
                                                      "MvBackward",
                                                      "AddmmBackward",
                                                      "AddbmmBackward"};
  if (!op.starts_with("aten::")) return std::find(kNodes.begin(), kNodes.end(), op) != kNodes.end();
  return std::find(kAten.begin(), kAten.end(), op.substr(6)) != kAten.end();
}

bool is_blocking_call(std::string_view call) {
  const auto has = [&](std::string_view part) { return call.find(part) != std::string_view::npos; };
  if (call.starts_with("hipMemcpyWithStream")) return true;
  if (call.ends_with("Async") || has("Async_")) return false;
  // cudaStreamSynchronize, hipDeviceSynchronize, zeEventHostSynchronize, aclrtSynchronizeStream,
  // synStreamSynchronize, ...
  if (has("Synchronize")) return true;
  // The same of SYCL's plugins.
  constexpr std::array<std::string_view, 5> kWaits = {
      "urQueueFinish", "urEventWait", "piQueueFinish", "piEventsWait", "hsa_signal_wait"};
  const auto begins = [&](std::string_view begin) { return call.starts_with(begin); };
  if (std::any_of(kWaits.begin(), kWaits.end(), begins)) return true;
  // Copies that are not asynchronous return when they are done.
  constexpr std::array<std::string_view, 5> kCopies = {"cudaMemcpy", "cuMemcpy", "hipMemcpy",
                                                       "aclrtMemcpy", "AscendCL@aclrtMemcpy"};
  return std::any_of(kCopies.begin(), kCopies.end(), begins);
}

bool is_collective_kernel(std::string_view kernel) {
  constexpr std::array<std::string_view, 8> kBegins = {
      "ncclKernel", "ncclDevKernel", "mscclKernel", "hccl::", "xccl::", "hcom_", "oneccl", "rccl"};
  return std::any_of(kBegins.begin(), kBegins.end(),
                     [&](std::string_view begin) { return kernel.starts_with(begin); });
}

}  // namespace gpuprof::report
