// SPDX-License-Identifier: Apache-2.0
//
// Choosing tiles and splits, and launching.
//
// Context:  application threads
// Owns:     nothing
// Promises: see matmul.hpp
// Not here: names and figures (kernel_table.cpp)
#include "cublas/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "core/handles.hpp"

namespace gpusim {
namespace {

constexpr std::int64_t kMaxGridYz = 65535;
constexpr int kMaxSmem = 232448;

struct Choice {
  const GemmFamily* family;
  Tile tile;
  std::int64_t rows, columns;  ///< tiles
  int splits;
  bool cluster;
};

struct Name {
  char text[512];
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double real(std::int64_t value) { return static_cast<double>(value); }

double bytes_of(cudaDataType_t type, double elements) { return elements * element_bits(type) / 8; }

/// Time of one wave grows with the tile's area and small tiles use the device badly.
double cost_of(const Matmul& p, const Tile& t, int sm_count) {
  const double tiles = real(ceil_div(p.m, t.m)) * real(ceil_div(p.n, t.n)) * real(p.batch);
  return std::ceil(tiles / sm_count) * (t.m * t.n + 3072.0);
}

Choice choose(const Matmul& p, const DeviceModel& model, const GemmFamily& family) {
  const Tile* best = family.tiles;
  for (const Tile* t = family.tiles; t != family.tiles + family.tile_count; ++t)
    if (cost_of(p, *t, model.sm_count) < cost_of(p, *best, model.sm_count)) best = t;
  Choice c{&family, *best, ceil_div(p.m, best->m), ceil_div(p.n, best->n), 1, false};
  const std::int64_t tiles = c.rows * c.columns * p.batch;
  if (tiles * 2 <= model.sm_count && p.k >= 1024 && p.batch == 1)
    c.splits = static_cast<int>(
        std::clamp<std::int64_t>(std::min<std::int64_t>(model.sm_count / tiles, p.k / 512), 1, 16));
  c.cluster = family.clusters && c.rows % 2 == 0;
  return c;
}

void put(Name& out, std::size_t& used, const char* text, std::size_t length) {
  length = std::min(length, sizeof out.text - 1 - used);
  std::memcpy(out.text + used, text, length);
  used += length;
  out.text[used] = '\0';
}

struct Placeholder {
  const char* key;
  const char* value;
};

/// Replaces each {key} of `pattern`.
template <int N>
Name expand(const char* pattern, const Placeholder (&values)[N]) {
  Name out{};
  std::size_t used = 0;
  while (*pattern != '\0') {
    const char* open = std::strchr(pattern, '{');
    if (open == nullptr) open = pattern + std::strlen(pattern);
    put(out, used, pattern, open - pattern);
    if (*open == '\0') break;
    const char* close = std::strchr(open, '}');
    for (const Placeholder& v : values)
      if (std::strlen(v.key) == static_cast<std::size_t>(close - open - 1) &&
          std::strncmp(v.key, open + 1, close - open - 1) == 0)
        put(out, used, v.value, std::strlen(v.value));
    pattern = close + 1;
  }
  return out;
}

Name gemm_name(const Matmul& p, const Choice& c) {
  const bool fp8 = p.math == Math::kFp8;
  char types[8] = {type_letter(p.a), fp8 ? type_letter(p.b) : 's', type_letter(p.c), '\0'};
  if (fp8) {
    types[3] = 's';
    types[4] = type_letter(p.c);
  }
  char m[8], n[8], k[8], stages[8];
  std::snprintf(m, sizeof m, "%d", c.tile.m);
  std::snprintf(n, sizeof n, "%d", c.tile.n);
  std::snprintf(k, sizeof k, "%d", c.family->tile_k);
  std::snprintf(stages, sizeof stages, "%d", c.family->stages);
  const char lower[] = {p.ta ? 't' : 'n', p.tb ? 't' : 'n', '\0'};
  const char upper[] = {p.ta ? 'T' : 'N', p.tb ? 'T' : 'N', '\0'};
  const Placeholder values[] = {{"types", types},
                                {"m", m},
                                {"n", n},
                                {"k", k},
                                {"stages", stages},
                                {"cluster", c.cluster ? "2x1" : "1x1"},
                                {"split", c.splits > 1 ? "_splitK" : ""},
                                {"epilogue", c.splits > 1 ? "" : p.epilogue},
                                {"ab", lower},
                                {"AB", upper}};
  return expand(c.family->name, values);
}

void set_grid(LibraryKernel& k, std::int64_t x, std::int64_t y, std::int64_t z) {
  if (y > kMaxGridYz) {
    x *= y;
    y = 1;
  }
  if (z > kMaxGridYz) {
    x *= z;
    z = 1;
  }
  k.grid[0] = static_cast<std::uint32_t>(std::min<std::int64_t>(x, 0x7fffffff));
  k.grid[1] = static_cast<std::uint32_t>(y);
  k.grid[2] = static_cast<std::uint32_t>(z);
}

double peak_of(const DeviceModel& model, Math math) {
  switch (math) {
    case Math::kFp8:
    case Math::kInt8:
      return peak_tflops(model, 8);
    case Math::kHalf:
    case Math::kBf16:
      return peak_tflops(model, 16);
    case Math::kTf32:
      return peak_tflops(model, 19);
    case Math::kDouble:
    case Math::kDoubleComplex:
      return peak_tflops(model, 64);
    default:
      return peak_tflops(model, 32);
  }
}

cublasStatus_t status_of(int error) {
  return error == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t launch_gemm(Stream* stream, const Matmul& p, const Choice& c, const Name& name) {
  const DeviceModel& model = stream->context->device->model;
  LibraryKernel k{};
  k.name = name.text;
  set_grid(k, c.rows, c.columns, p.batch * c.splits);
  k.block[0] = c.family->threads;
  k.block[1] = k.block[2] = 1;
  if (c.cluster) {
    k.cluster[0] = 2;
    k.cluster[1] = k.cluster[2] = 1;
  }
  k.registers = c.family->registers;
  const int smem =
      c.family->stages * (c.tile.m + c.tile.n) * c.family->tile_k * element_bits(p.a) / 8;
  k.dynamic_smem = static_cast<std::uint32_t>(std::min(smem, kMaxSmem));
  const bool complex = p.math == Math::kComplex || p.math == Math::kDoubleComplex;
  const double volume = real(p.m) * real(p.n) * real(p.k) * real(p.batch);
  k.flops = volume * (complex ? 8 : 2);
  k.peak_tflops = peak_of(model, p.math);
  k.traffic_bytes =
      real(p.batch) * (bytes_of(p.a, real(p.m) * real(p.k)) + bytes_of(p.b, real(p.k) * real(p.n)) +
                       bytes_of(p.c, real(p.m) * real(p.n)));
  return status_of(launch_library_kernel(stream, k));
}

/// A product with a vector, for which cuBLAS has kernels of its own.
bool is_gemv(const Matmul& p) {
  return (p.m == 1 || p.n == 1) && p.math != Math::kFp8 && p.math != Math::kInt8 &&
         *p.epilogue == '\0';
}

}  // namespace

bool math_for(cudaDataType_t type, int compute, cublasMath_t mode, Math* math) {
  const int low = mode & 15;
  switch (type) {
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      *math = Math::kFp8;
      return true;
    case CUDA_R_8I:
    case CUDA_R_8U:
      *math = Math::kInt8;
      return true;
    case CUDA_R_16F:
      *math = Math::kHalf;
      return true;
    case CUDA_R_16BF:
      *math = Math::kBf16;
      return true;
    case CUDA_R_64F:
      *math = Math::kDouble;
      return true;
    case CUDA_C_32F:
      *math = Math::kComplex;
      return true;
    case CUDA_C_64F:
      *math = Math::kDoubleComplex;
      return true;
    case CUDA_R_32F:
      break;
    default:
      return false;
  }
  if (compute == CUBLAS_COMPUTE_32F_FAST_16F)
    *math = Math::kHalf;
  else if (compute == CUBLAS_COMPUTE_32F_FAST_16BF || compute == CUBLAS_COMPUTE_32F_EMULATED_16BFX9)
    *math = Math::kBf16;
  else if (compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
           (low == CUBLAS_TF32_TENSOR_OP_MATH && compute != CUBLAS_COMPUTE_32F_PEDANTIC))
    *math = Math::kTf32;
  else
    *math = Math::kSingle;
  return true;
}

cublasStatus_t launch_matmul(const void* stream_handle, const Matmul& p) {
  if (runtime_context() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  Stream* stream = stream_of(stream_handle);
  if (stream == nullptr) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return CUBLAS_STATUS_SUCCESS;
  if (is_gemv(p)) {
    const bool transposed = p.n == 1 ? p.ta : !p.tb;
    return launch_non_gemm(stream_handle,
                           transposed ? NonGemmKernel::kGemvT : NonGemmKernel::kGemvN, p.a,
                           real(p.k) * real(std::max(p.m, p.n)), 1, p.batch);
  }
  const DeviceModel& model = stream->context->device->model;
  const GemmFamily* family = gemm_family(model.cc_major, p.math);
  if (family == nullptr) return CUBLAS_STATUS_ARCH_MISMATCH;
  const Choice choice = choose(p, model, *family);
  const cublasStatus_t status = launch_gemm(stream, p, choice, gemm_name(p, choice));
  if (status != CUBLAS_STATUS_SUCCESS || choice.splits == 1) return status;
  return launch_non_gemm(stream_handle, NonGemmKernel::kSplitReduce, CUDA_R_32F,
                         real(p.m) * real(p.n) * choice.splits);
}

cublasStatus_t launch_non_gemm(const void* stream_handle, NonGemmKernel which, cudaDataType_t type,
                               double elements, double inner, std::int64_t batch) {
  if (runtime_context() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  Stream* stream = stream_of(stream_handle);
  if (stream == nullptr) return CUBLAS_STATUS_EXECUTION_FAILED;
  const NonGemmKernelInfo& row = plain_kernel(which);
  const Placeholder values[] = {{"t", mangled_type(type)}};
  const Name name = expand(row.name, values);
  LibraryKernel k{};
  k.name = name.text;
  k.block[0] = row.threads;
  k.block[1] = k.block[2] = 1;
  const double blocks = std::ceil(elements / (row.threads * static_cast<double>(row.per_thread)));
  const bool one_block = which == NonGemmKernel::kReduce;
  set_grid(k, one_block ? 1 : std::max<std::int64_t>(1, static_cast<std::int64_t>(blocks)), 1,
           batch);
  k.registers = row.registers;
  k.flops = real(batch) * elements * (row.flops > 0 ? row.flops : 2 * inner);
  const int bits = element_bits(type);
  k.peak_tflops = peak_tflops(stream->context->device->model, bits >= 64 ? 64 : 32);
  k.traffic_bytes = std::max(1.0, real(batch) * elements * row.traffic * bits / 8);
  return status_of(launch_library_kernel(stream, k));
}

}  // namespace gpusim
