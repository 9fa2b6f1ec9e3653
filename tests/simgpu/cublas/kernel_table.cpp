// SPDX-License-Identifier: Apache-2.0
//
// The invented table itself.
//
// Context:  application threads
// Owns:     nothing
// Promises: see kernel_table.hpp
// Not here: choices (matmul.cpp, routine.cpp)
#include "cublas/kernel_table.hpp"

namespace gpusim {
namespace {

constexpr Tile kWarpGroup[] = {{128, 256}, {256, 128}, {192, 192}, {128, 192},
                               {128, 128}, {64, 256},  {64, 128},  {64, 64},
                               {64, 32},   {64, 16},   {64, 8}};
constexpr Tile kTensor[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64},
                            {64, 128},  {64, 64},   {32, 32}};
constexpr Tile kVector[] = {{128, 128}, {128, 64}, {64, 64}, {32, 128}, {32, 32}};
constexpr Tile kWide[] = {{128, 64}, {64, 64}, {64, 32}, {32, 32}};

template <int N>
constexpr GemmFamily family(int major, Math math, const char* name, const Tile (&tiles)[N], int k,
                            int stages, int threads, int registers, bool clusters = false) {
  return {major,
          math,
          name,
          tiles,
          N,
          static_cast<std::uint16_t>(k),
          static_cast<std::uint16_t>(stages),
          static_cast<std::uint16_t>(threads),
          static_cast<std::uint16_t>(registers),
          clusters};
}

constexpr const char* kNvjet =
    "nvjet_{types}_{m}x{n}_{k}x{stages}_{cluster}_v_bz{split}{epilogue}_{AB}T";

constexpr GemmFamily kFamilies[] = {
    // Hopper
    family(9, Math::kFp8, kNvjet, kWarpGroup, 128, 4, 384, 168, true),
    family(9, Math::kInt8,
           "sm90_xmma_gemm_i8i32_i8i32_i32_{ab}_n_tilesize{m}x{n}x{k}_warpgroupsize1x1x1{epilogue}"
           "_execute_segment_k_off_kernel__5x_cublas",
           kWarpGroup, 128, 4, 384, 168, true),
    family(9, Math::kHalf, kNvjet, kWarpGroup, 64, 4, 384, 168, true),
    family(9, Math::kBf16, kNvjet, kWarpGroup, 64, 4, 384, 168, true),
    family(
        9, Math::kTf32,
        "sm90_xmma_gemm_f32f32_tf32f32_f32_{ab}_n_tilesize{m}x{n}x{k}_warpgroupsize1x1x1{epilogue}"
        "_execute_segment_k_off_kernel__5x_cublas",
        kTensor, 32, 4, 384, 168, true),
    family(9, Math::kSingle, "ampere_sgemm_{m}x{n}{epilogue}_{ab}", kVector, 8, 4, 256, 122),
    family(9, Math::kDouble,
           "sm90_xmma_gemm_f64f64_f64f64_f64_{ab}_n_tilesize{m}x{n}x{k}_cgasize1x1x1_stage{stages}"
           "_warpgroupsize1x1x1_tensor16x8x16_execute_kernel__5x_cublas",
           kWide, 16, 4, 128, 234),
    family(9, Math::kComplex, "ampere_cgemm_{m}x{n}_{ab}", kWide, 8, 3, 256, 126),
    family(9, Math::kDoubleComplex, "ampere_zgemm_{m}x{n}_{ab}", kWide, 8, 3, 256, 224),
    // Ampere
    family(8, Math::kInt8,
           "sm80_xmma_gemm_i8i32_i8i32_i32_{ab}_n_tilesize{m}x{n}x{k}_stage{stages}_warpsize2x2x1"
           "_tensor16x8x32{epilogue}_execute_kernel__5x_cublas",
           kTensor, 64, 3, 128, 216),
    family(8, Math::kHalf,
           "ampere_fp16_s16816gemm_fp16_{m}x{n}_ldg8{epilogue}_f2f_stages_{k}x{stages}_{ab}",
           kTensor, 32, 5, 128, 230),
    family(8, Math::kBf16,
           "ampere_bf16_s16816gemm_bf16_{m}x{n}_ldg8{epilogue}_f2f_stages_{k}x{stages}_{ab}",
           kTensor, 32, 5, 128, 230),
    family(
        8, Math::kTf32,
        "sm80_xmma_gemm_f32f32_tf32f32_f32_{ab}_n_tilesize{m}x{n}x{k}_stage{stages}_warpsize2x2x1"
        "_tensor16x8x8{epilogue}_execute_kernel__5x_cublas",
        kTensor, 16, 4, 128, 216),
    family(8, Math::kSingle, "ampere_sgemm_{m}x{n}{epilogue}_{ab}", kVector, 8, 4, 256, 122),
    family(8, Math::kDouble,
           "sm80_xmma_gemm_f64f64_f64f64_f64_{ab}_n_tilesize{m}x{n}x{k}_stage{stages}_warpsize2x2x1"
           "_tensor8x8x4_execute_kernel__5x_cublas",
           kWide, 16, 4, 128, 234),
    family(8, Math::kComplex, "ampere_cgemm_{m}x{n}_{ab}", kWide, 8, 3, 256, 126),
    family(8, Math::kDoubleComplex, "ampere_zgemm_{m}x{n}_{ab}", kWide, 8, 3, 256, 224),
    // Volta; what it lacks runs on its single-precision kernels
    family(7, Math::kInt8, "volta_int8_i884gemm_int8_{m}x{n}_ldg16{epilogue}_{ab}", kTensor, 32, 2,
           256, 168),
    family(7, Math::kHalf, "volta_fp16_s884gemm_fp16_{m}x{n}_ldg8{epilogue}_f2f_{ab}", kTensor, 32,
           2, 256, 212),
    family(7, Math::kBf16, "volta_bf16_sgemm_bf16_{m}x{n}{epilogue}_{ab}", kVector, 8, 2, 256, 126),
    family(7, Math::kTf32, "volta_sgemm_{m}x{n}{epilogue}_{ab}", kVector, 8, 2, 256, 122),
    family(7, Math::kSingle, "volta_sgemm_{m}x{n}{epilogue}_{ab}", kVector, 8, 2, 256, 122),
    family(7, Math::kDouble, "volta_dgemm_{m}x{n}_{ab}", kWide, 8, 2, 256, 234),
    family(7, Math::kComplex, "volta_cgemm_{m}x{n}_{ab}", kWide, 8, 2, 256, 126),
    family(7, Math::kDoubleComplex, "volta_zgemm_{m}x{n}_{ab}", kWide, 8, 2, 256, 224),
};

#define GPUSIM_TENSOR(constant) "30cublasGemvTensorStridedBatchedI" constant "{t}E"

// In the order of Plain. Columns: name, threads, registers, elements a thread, flops and traffic an
// element.
constexpr NonGemmKernelInfo kPlain[] = {
    {"_ZN8internal5gemvx6kernelIii{t}{t}{t}{t}"
     "Lb0ELb1ELb0ELb0ELi7ELb0E18cublasGemvParamsExIi" GPUSIM_TENSOR("K") GPUSIM_TENSOR("K")
         GPUSIM_TENSOR("") "{t}EEEvT11_",
     128, 56, 4, 2, 1},
    {"_Z17gemv2T_kernel_valIii{t}{t}{t}{t}"
     "Li128ELi16ELi4ELi4ELb0ELb0E18cublasGemvParamsExIi" GPUSIM_TENSOR("K") GPUSIM_TENSOR("K")
         GPUSIM_TENSOR("") "{t}EEvT11_",
     128, 64, 8, 2, 1},
    {"_Z10ger_kernelI{t}Li256ELi5ELb0EEviiPKT_PKT_PT_", 256, 40, 5, 2, 2},
    {"_Z18trmv_trsv_kernel_nI{t}Li32ELi8EEviiPKT_PT_", 256, 48, 4, 2, 1},
    {"_Z13gbmv_kernel_nI{t}Li256EEviiPKT_PKT_PT_", 256, 32, 2, 2, 1},
    {"_Z15axpy_kernel_valI{t}{t}EviPKT_PT0_", 256, 24, 4, 2, 3},
    {"_Z11copy_kernelI{t}EviPKT_PT_", 256, 20, 4, 0, 2},
    {"_Z15scal_kernel_valI{t}{t}EviT_PT0_", 256, 20, 4, 1, 2},
    {"_Z11swap_kernelI{t}EviPT_PT_", 256, 20, 4, 0, 4},
    {"_Z10rot_kernelI{t}EviPT_PT_", 256, 24, 4, 6, 4},
    {"_Z10dot_kernelI{t}Li128ELi0EEviPKT_PKT_PT_", 128, 24, 8, 2, 2},
    {"_Z11nrm2_kernelI{t}{t}{t}Li1ELi0ELi128EEviPKT_PT0_", 128, 28, 8, 2, 1},
    {"_Z11asum_kernelI{t}{t}Li0EEviPKT_PT0_", 128, 24, 8, 1, 1},
    {"_Z18iamax_iamin_kernelI{t}Li256ELi0EEviPKT_Pi", 256, 28, 8, 1, 1},
    {"_Z18iamax_iamin_kernelI{t}Li256ELi1EEviPKT_Pi", 256, 28, 8, 1, 1},
    {"_Z20reduce_1Block_kernelI{t}Li128ELi7EEvPKT_PT_", 128, 24, 8, 1, 1},
    {"_Z11syrk_kernelI{t}Li64ELi64ELi16EEviiPKT_PT_", 256, 122, 16, 0, 1},
    {"_Z11symm_kernelI{t}Li64ELi64ELi16EEviiPKT_PKT_PT_", 256, 122, 16, 0, 1},
    {"_Z16trmm_left_kernelI{t}Li256ELi4ELb0EEviiPKT_PT_", 256, 96, 16, 0, 1},
    {"_Z16trsm_left_kernelI{t}Li256ELi4ELb0EEviiPKT_PT_", 256, 96, 16, 0, 1},
    {"_Z11geam_kernelI{t}Li32ELi8EEviiPKT_PKT_PT_", 256, 32, 4, 2, 3},
    {"_Z11dgmm_kernelI{t}Li32ELi8EEviiPKT_PKT_PT_", 256, 28, 4, 1, 2},
    {"_Z18pack_unpack_kernelI{t}EviPKT_PT_", 256, 20, 4, 0, 2},
    {"_Z20getrf_batched_kernelI{t}Li32EEvPPT_PiPi", 128, 128, 8, 0, 2},
    {"_Z20getrs_batched_kernelI{t}Li32EEvPPT_PPT_PKi", 128, 96, 8, 0, 2},
    {"_Z20getri_batched_kernelI{t}Li32EEvPPT_PPT_PKi", 128, 96, 8, 0, 2},
    {"_Z20geqrf_batched_kernelI{t}Li32EEvPPT_PPT_", 128, 112, 8, 0, 2},
    {"_Z19gels_batched_kernelI{t}Li32EEvPPT_PPT_", 128, 112, 8, 0, 2},
    {"_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb1ELb0ELb0EEEvPKT2_PT3_i", 512, 40, 4, 1,
     1},
    {"_ZN8cublasLt16transform_kernelI{t}{t}Li32ELi32EEEviiPKT_PT0_", 256, 32, 4, 2, 2},
};
#undef GPUSIM_TENSOR

}  // namespace

const GemmFamily* gemm_family(int cc_major, Math math) {
  for (const GemmFamily& f : kFamilies)
    if (f.major == cc_major && f.math == math) return &f;
  return nullptr;
}

const NonGemmKernelInfo& plain_kernel(NonGemmKernel which) {
  return kPlain[static_cast<int>(which)];
}

int element_bits(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_4I:
    case CUDA_R_4U:
      return 4;
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      return 8;
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_16I:
    case CUDA_R_16U:
    case CUDA_C_8I:
      return 16;
    case CUDA_R_64F:
    case CUDA_C_32F:
    case CUDA_R_64I:
    case CUDA_R_64U:
      return 64;
    case CUDA_C_64F:
      return 128;
    default:
      return 32;
  }
}

const char* mangled_type(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16F:
      return "6__half";
    case CUDA_R_16BF:
      return "13__nv_bfloat16";
    case CUDA_R_64F:
      return "d";
    case CUDA_C_32F:
      return "6float2";
    case CUDA_C_64F:
      return "7double2";
    case CUDA_R_8I:
      return "a";
    case CUDA_R_32I:
      return "i";
    case CUDA_R_8F_E4M3:
      return "13__nv_fp8_e4m3";
    case CUDA_R_8F_E5M2:
      return "13__nv_fp8_e5m2";
    default:
      return "f";
  }
}

char type_letter(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16F:
      return 'h';
    case CUDA_R_16BF:
      return 't';
    case CUDA_R_8F_E4M3:
      return 'q';
    case CUDA_R_8F_E5M2:
      return 'r';
    case CUDA_R_64F:
      return 'd';
    default:
      return 's';
  }
}

}  // namespace gpusim
