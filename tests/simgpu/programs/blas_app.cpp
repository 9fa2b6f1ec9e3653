// SPDX-License-Identifier: Apache-2.0
//
// An ordinary program that uses each family of cuBLAS and cuBLASLt and prints what it was told.
//
//   blas_app              every family once: lines `call NAME STATUS`
//   blas_app refused FILE calls every GPUSIM_REFUSE(name) of a file: lines `refused NAME STATUS`
//
// Context:  one thread
// Owns:     one handle of each library
// Promises: linked by SONAME only; knows nothing of the simulated GPU but the form of FILE
// Not here: what is expected (cublas_test.cpp)
#include <cublasLt.h>
#include <cublas_api.h>
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace {

cublasHandle_t g_handle;
const float kOne = 1;
const double kOneDouble = 1;
const cuComplex kOneComplex = {1, 0};

void* device(std::size_t n) { return reinterpret_cast<void*>(0x700000000000 + n * 4096); }
float* floats(std::size_t n) { return static_cast<float*>(device(n)); }
double* doubles(std::size_t n) { return static_cast<double*>(device(n)); }
cuComplex* complexes(std::size_t n) { return static_cast<cuComplex*>(device(n)); }

void say(const char* name, int status) { std::printf("call %s %d\n", name, status); }

#define CALL(function, ...) say(#function, function(g_handle, __VA_ARGS__))

void gemm_ex(const char* name, cudaDataType type, cudaDataType out, cublasComputeType_t compute,
             int m, int n, int k) {
  say(name,
      cublasGemmEx(g_handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &kOne, device(0), type, k,
                   device(1), type, k, &kOne, device(2), out, m, compute, CUBLAS_GEMM_DEFAULT));
}

void products() {
  CALL(cublasSgemm_v2, CUBLAS_OP_T, CUBLAS_OP_N, 512, 512, 512, &kOne, floats(0), 512, floats(1),
       512, &kOne, floats(2), 512);
  CALL(cublasSgemm_v2_64, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &kOne, floats(0), 64, floats(1), 64,
       &kOne, floats(2), 64);
  CALL(cublasDgemm_v2, CUBLAS_OP_N, CUBLAS_OP_T, 512, 512, 512, &kOneDouble, doubles(0), 512,
       doubles(1), 512, &kOneDouble, doubles(2), 512);
  CALL(cublasCgemm3m, CUBLAS_OP_N, CUBLAS_OP_N, 128, 128, 128, &kOneComplex, complexes(0), 128,
       complexes(1), 128, &kOneComplex, complexes(2), 128);
  CALL(cublasSgemmStridedBatched, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &kOne, floats(0), 64, 4096,
       floats(1), 64, 4096, &kOne, floats(2), 64, 4096, 12);
  gemm_ex("half", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 4096, 4096, 4096);
  gemm_ex("half_small", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 64, 24, 64);
  gemm_ex("bfloat", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 4096, 4096, 4096);
  gemm_ex("tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 1024, 1024, 1024);
  gemm_ex("int8", CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 1024, 1024, 1024);
  gemm_ex("tall_k", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 128, 128, 65536);
  gemm_ex("vector", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 1024, 1, 1024);
  gemm_ex("empty", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 0, 16, 16);
  gemm_ex("no_such_type", CUDA_R_64I, CUDA_R_64I, CUBLAS_COMPUTE_32I, 16, 16, 16);
  gemm_ex("negative", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, -1, 16, 16);
}

void vectors() {
  float number = -1;
  int index = -1;
  CALL(cublasSgemv_v2, CUBLAS_OP_T, 128, 64, &kOne, floats(0), 128, floats(1), 1, &kOne, floats(2),
       1);
  CALL(cublasSaxpy_v2, 1000, &kOne, floats(0), 1, floats(1), 1);
  CALL(cublasSscal_v2, 1000, &kOne, floats(0), 1);
  CALL(cublasSdot_v2, 1000, floats(0), 1, floats(1), 1, &number);
  std::printf("result dot %g\n", static_cast<double>(number));
  number = -1;
  CALL(cublasSnrm2_v2, 1000, floats(0), 1, &number);
  std::printf("result nrm2 %g\n", static_cast<double>(number));
  CALL(cublasIsamax_v2, 1000, floats(0), 1, &index);
  std::printf("result amax %d\n", index);
}

void solvers() {
  CALL(cublasStrsm_v2, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 64,
       32, &kOne, floats(0), 64, floats(1), 64);
  CALL(cublasSsyrk_v2, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 64, 32, &kOne, floats(0), 64, &kOne,
       floats(1), 64);
  int* const numbers = static_cast<int*>(device(3));
  auto* const matrices = static_cast<float**>(device(4));
  CALL(cublasSgetrfBatched, 32, matrices, 32, numbers, numbers, 8);
  int info = -1;
  CALL(cublasSgetrsBatched, CUBLAS_OP_N, 32, 4, matrices, 32, numbers, matrices, 32, &info, 8);
  std::printf("result info %d\n", info);
}

/// Every second number to the device and back.
void transfers() {
  CUdeviceptr address = 0;
  if (cuMemAlloc(&address, 4096) != CUDA_SUCCESS) return;
  void* const memory = reinterpret_cast<void*>(address);
  const float numbers[4] = {1, 2, 3, 4};
  float back[2] = {};
  say("set_vector", cublasSetVector(2, 4, numbers, 2, memory, 1));
  say("get_matrix_64", cublasGetMatrix_64(2, 1, 4, memory, 2, back, 2));
  std::printf("result copied %g-%g\n", static_cast<double>(back[0]), static_cast<double>(back[1]));
  say("set_nothing", cublasSetVectorAsync(0, 4, numbers, 1, memory, 1, nullptr));
  say("set_backwards", cublasSetVector(2, 4, numbers, -1, memory, 1));
  cuMemFree(address);
}

/// One product through cuBLASLt with an epilogue.
void lt_product(const char* name, cublasLtHandle_t lt, cudaDataType type,
                cublasLtEpilogue_t epilogue) {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, d;
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  cublasLtMatrixLayoutCreate(&a, type, 256, 512, 256);
  cublasLtMatrixLayoutCreate(&b, type, 256, 1024, 256);
  cublasLtMatrixLayoutCreate(&d, CUDA_R_16BF, 512, 1024, 512);
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulHeuristicResult_t result;
  int count = -1;
  const int found =
      cublasLtMatmulAlgoGetHeuristic(lt, desc, a, b, d, d, preference, 1, &result, &count);
  std::printf("heuristic %s status %d count %d\n", name, found, count);
  say(name, cublasLtMatmul(lt, desc, &kOne, device(0), a, device(1), b, &kOne, device(2), d,
                           device(2), d, &result.algo, nullptr, 0, nullptr));
  cublasLtMatmulPreferenceDestroy(preference);
  for (cublasLtMatrixLayout_t layout : {a, b, d}) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(desc);
}

void attributes() {
  cublasLtMatrixLayoutOpaque_t layout;
  std::uint64_t rows = 0;
  std::size_t written = 0;
  say("layout_init", cublasLtMatrixLayoutInit(&layout, CUDA_R_16F, 30, 40, 30));
  say("layout_get", cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows,
                                                     sizeof rows, &written));
  std::printf("result rows %d written %d\n", static_cast<int>(rows), static_cast<int>(written));
  say("layout_size",
      cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, 4, nullptr));
}

/// Groups of products whose arrays are not there.
void absent_groups() {
  const auto call = [](cublasHandle_t handle, int groups) {
    return cublasSgemmGroupedBatched(handle, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                     nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                     groups, nullptr);
  };
  say("groups_absent", call(g_handle, 2));
  say("groups_negative", call(g_handle, -1));
  say("groups_none", call(g_handle, 0));
  say("groups_handle", call(nullptr, 2));
}

int families() {
  say("create", cublasCreate_v2(&g_handle));
  products();
  vectors();
  solvers();
  transfers();
  cublasLtHandle_t lt;
  say("lt_create", cublasLtCreate(&lt));
  lt_product("lt_bias", lt, CUDA_R_16BF, CUBLASLT_EPILOGUE_BIAS);
  lt_product("lt_gelu", lt, CUDA_R_16BF, CUBLASLT_EPILOGUE_GELU_BIAS);
  // Programs pass a cuBLAS handle here.
  lt_product("lt_fp8", reinterpret_cast<cublasLtHandle_t>(g_handle), CUDA_R_8F_E4M3,
             CUBLASLT_EPILOGUE_DEFAULT);
  attributes();
  absent_groups();
  say("lt_destroy", cublasLtDestroy(lt));
  say("destroy", cublasDestroy_v2(g_handle));
  say("used_after_destroy", cublasSetStream_v2(g_handle, nullptr));
  return 0;
}

/// Calls each function with no arguments, which only a refusal survives.
int refusals(const char* file) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    constexpr char kMark[] = "GPUSIM_REFUSE(";
    if (line.rfind(kMark, 0) != 0) continue;
    const std::string name = line.substr(sizeof kMark - 1, line.find(')') - sizeof kMark + 1);
    auto* const function = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name.c_str()));
    std::printf("refused %s %d\n", name.c_str(), function != nullptr ? function() : -1);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (cuInit(0) != CUDA_SUCCESS) return 2;
  return argc == 3 && std::strcmp(argv[1], "refused") == 0 ? refusals(argv[2]) : families();
}
