// SPDX-License-Identifier: Apache-2.0
//
// Invented kernel names in the style of real training: mangled C++ and library names, some of them
// tensor-core ones.
//
// Context:  any
// Owns:     nothing
// Promises: every name that begins with _Z demangles
// Not here: launches (worker.cpp)
#pragma once

#include "trainer/counters.hpp"

namespace trainer {

inline constexpr const char* kNames[kKernelNames] = {
    // forward
    "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
    "addIfEESt5arrayIPcLm3EEEEviT0_T1_",
    "_ZN3sim5model18layer_norm_forwardIffEEviT_PKT0_S4_S4_PS2_",
    "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_"
    "kernel",
    "_ZN3sim5model15softmax_forwardILi1024EfEEvPT0_PKS2_i",
    // backward
    "ampere_fp16_s16816gemm_fp16_256x64_ldg8_f2f_stages_64x3_nt",
    "_ZN3sim5model16softmax_backwardILi1024EfEEvPT0_PKS2_i",
    "_ZN3sim5model19layer_norm_backwardIffEEviT_PKT0_S4_S4_PS2_",
    "_ZN2at6native13reduce_kernelILi512ELi1EfEEvT1_i",
    // optimizer
    "_ZN3sim9optimizer9adam_stepIfLi4EEEvPT_S3_S3_PKS2_fffffi",
    "_ZN3sim9optimizer12scale_kernelEPffi",
    "_ZN3sim9optimizer15clip_grad_norm_IfEEvPT_fi",
};

/// First and one-past-last name of each phase.
struct Phase {
  const char* name;
  int first, last;
};
inline constexpr Phase kPhases[] = {{"forward", 0, 5}, {"backward", 5, 9}, {"optimizer", 9, 12}};

}  // namespace trainer
