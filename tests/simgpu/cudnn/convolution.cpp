// SPDX-License-Identifier: Apache-2.0
//
// Convolution kernels of the simulated cuDNN: names, tiles, grids.
//
// INVENTED: the names follow the spelling of real traces; which tile the real heuristics would
// choose, block sizes and register counts are not known here.
//
// Context:  application threads
// Owns:     nothing
// Promises: see convolution.hpp
// Not here: durations (core/work/timeline.cpp)
#include "cudnn/convolution.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/work/library_kernel.hpp"
#include "cudnn/api.hpp"
#include "cudnn/kernels.hpp"

namespace gpusim {
namespace {

/// One family of kernels: what is the same for every tile and direction.
struct Family {
  int major;  ///< compute capability from which it is used
  int bits;   ///< 16, 19, 32, 64
  const char* architecture;
  const char* types;  ///< %s = f16 or bf16
  const char* layout;
  const char* stages;
  const char* tail;
  int tile_k;
  std::uint16_t block, registers;
  int stage_count;
  bool any_layout;  ///< reads NCHW itself
};

constexpr Family kFamilies[] = {
    {9, 16, "sm90", "%s%s_%sf32_f32", "nhwckrsc_nhwc", "warpgroupsize1x1x1",
     "execute_segment_k_off_kernel__5x_cudnn", 64, 384, 168, 4, false},
    {9, 19, "sm90", "tf32f32_tf32f32_f32", "nhwckrsc_nhwc", "warpgroupsize1x1x1",
     "execute_segment_k_off_kernel__5x_cudnn", 32, 384, 168, 4, false},
    {8, 16, "sm80", "%s%s_%sf32_f32", "nhwckrsc_nhwc", "stage4_warpsize2x2x1",
     "tensor16x8x16_execute_kernel__5x_cudnn", 32, 128, 238, 4, false},
    {8, 19, "sm80", "tf32f32_tf32f32_f32", "nhwckrsc_nhwc", "stage4_warpsize2x2x1",
     "tensor16x8x8_execute_kernel__5x_cudnn", 16, 128, 232, 4, false},
    {7, 16, "sm70", "%s%s_%sf32_f32", "nhwckrsc_nhwc", "stage1_warpsize2x2x1",
     "tensor8x8x4_execute_kernel__5x_cudnn", 32, 128, 220, 1, false},
    {0, 19, "sm60", "f32f32_f32f32_f32", "nchwkcrs_nchw", "stage2_warpsize2x2x1",
     "ffma_execute_kernel__5x_cudnn", 8, 128, 128, 2, true},
    {0, 32, "sm60", "f32f32_f32f32_f32", "nchwkcrs_nchw", "stage2_warpsize2x2x1",
     "ffma_execute_kernel__5x_cudnn", 8, 128, 128, 2, true},
    {0, 64, "sm60", "f64f64_f64f64_f64", "nchwkcrs_nchw", "stage2_warpsize2x2x1",
     "dfma_execute_kernel__5x_cudnn", 8, 128, 150, 2, true},
    {0, 0, "sm60", "i8i8_i32f32_f32", "nhwckrsc_nhwc", "stage2_warpsize2x2x1",
     "imma_execute_kernel__5x_cudnn", 64, 128, 150, 2, false},
};

struct Tile {
  int m, n;
};
constexpr Tile kTiles[] = {{256, 128}, {128, 128}, {128, 64}, {64, 64}, {64, 32}};

/// The convolution as a matrix product, for each group.
struct Gemm {
  double m, n, k;
};

const Family& family_of(const DeviceModel& model, int bits) {
  for (const Family& f : kFamilies)
    if (model.cc_major >= f.major && f.bits == bits) return f;
  return kFamilies[std::size(kFamilies) - 1];
}

Gemm gemm_of(const Convolution& c) {
  const double groups = c.groups();
  const double n = static_cast<double>(c.x.dim[0]);
  const double filter = c.w.spatial();
  const double in = static_cast<double>(c.x.dim[1]) / groups;
  const double out = static_cast<double>(c.y.dim[1]) / groups;
  switch (c.direction) {
    case Direction::kForward:
      return {n * c.y.spatial(), out, in * filter};
    case Direction::kData:
      return {n * c.x.spatial(), in, out * filter};
    case Direction::kFilter:
      return {out, in * filter, n * c.y.spatial()};
  }
  return {};
}

double blocks(const Gemm& g, Tile t) { return std::ceil(g.m / t.m) * std::ceil(g.n / t.n); }

/// The largest tile that still gives every SM a block.
Tile choose_tile(const Gemm& g, int groups, int sm_count) {
  for (const Tile t : kTiles)
    if (blocks(g, t) * groups >= sm_count) return t;
  return kTiles[std::size(kTiles) - 1];
}

void write_name(char* out, std::size_t room, const Convolution& c, const Family& f, Tile t) {
  constexpr const char* kDirections[] = {"fprop", "dgrad", "wgrad"};
  char types[48];
  const char* half = c.x.type == CUDNN_DATA_BFLOAT16 ? "bf16" : "f16";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
  std::snprintf(types, sizeof types, f.types, half, half, half);
#pragma GCC diagnostic pop
  std::snprintf(out, room, "%s_xmma_%s_implicit_gemm_%s_%s_tilesize%dx%dx%d_%s_g%d_%s",
                f.architecture, kDirections[static_cast<int>(c.direction)], types, f.layout, t.m,
                t.n, f.tile_k, f.stages, std::min(c.groups(), 32), f.tail);
}

cudnnStatus_t launch_gemm(Stream* stream, const Convolution& c, const Family& f, int bits) {
  const DeviceModel& model = stream->context->device->model;
  const Gemm g = gemm_of(c);
  const Tile t = choose_tile(g, c.groups(), model.sm_count);
  const double wanted = model.sm_count / std::max(1.0, blocks(g, t) * c.groups());
  const double slices = std::ceil(g.k / (8.0 * f.tile_k));
  const double split = c.direction == Direction::kFilter ? std::min(wanted, slices) : 1;
  char name[256];
  write_name(name, sizeof name, c, f, t);
  LibraryKernel k{};
  k.name = name;
  k.grid[0] = static_cast<std::uint32_t>(std::clamp(std::ceil(g.m / t.m), 1.0, 2147483647.0));
  k.grid[1] = static_cast<std::uint32_t>(std::clamp(std::ceil(g.n / t.n), 1.0, 65535.0));
  k.grid[2] = static_cast<std::uint32_t>(
      std::clamp(c.groups() * std::max(1.0, std::floor(split)), 1.0, 65535.0));
  k.block[0] = f.block;
  k.registers = f.registers;
  k.dynamic_smem = static_cast<std::uint32_t>(f.stage_count * (t.m + t.n) * f.tile_k *
                                              std::max(8, bits == 19 ? 32 : bits) / 8);
  k.flops = c.flops();
  k.peak_tflops = peak_tflops(model, bits);
  k.traffic_bytes = c.x.bytes() + c.w.bytes() + c.y.bytes();
  return status_of_launch(launch_library_kernel(stream, k));
}

cudnnStatus_t convert(Stream* stream, Kernel kernel, const Tensor& tensor) {
  if (tensor.channels_last()) return CUDNN_STATUS_SUCCESS;
  return launch(stream, kernel, elementwise(tensor, 2));
}

}  // namespace

double Convolution::flops() const {
  const double k = std::max<double>(1, static_cast<double>(w.dim[0]));
  return 2 * y.elements() * w.elements() / k;
}

int Convolution::groups() const {
  if (w.dim[1] <= 0) return 1;
  return static_cast<int>(std::max<std::int64_t>(1, x.dim[1] / w.dim[1]));
}

bool plausible(const Convolution& c) {
  const int rank = c.x.dims;
  return rank >= 3 && rank <= 5 && c.w.dims == rank && c.y.dims == rank && c.w.dim[1] > 0 &&
         c.x.dim[1] % c.w.dim[1] == 0 && c.w.dim[0] == c.y.dim[1] && c.x.dim[0] == c.y.dim[0];
}

cudnnStatus_t launch(Stream* stream, const Convolution& c) {
  if (stream == nullptr) return status_of_launch(cudaErrorInvalidResourceHandle);
  if (c.flops() <= 0) return CUDNN_STATUS_SUCCESS;
  const int bits = math_bits(c.x.type, c.fma);
  const Family& f = family_of(stream->context->device->model, bits);
  if (f.any_layout) return launch_gemm(stream, c, f, bits);
  const Tensor* all[] = {&c.x, &c.w, &c.y};
  const int result = c.direction == Direction::kForward ? 2
                     : c.direction == Direction::kData  ? 0
                                                        : 1;
  for (int i = 0; i < 3; ++i) {
    if (i == result) continue;
    const cudnnStatus_t status = convert(stream, Kernel::kNchwToNhwc, *all[i]);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  const cudnnStatus_t status = launch_gemm(stream, c, f, bits);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return convert(stream, Kernel::kNhwcToNchw, *all[result]);
}

float estimate_ms(const Stream* stream, const Convolution& c) {
  if (stream == nullptr) return 0;
  const DeviceModel& model = stream->context->device->model;
  const double rate = 0.45 * peak_tflops(model, math_bits(c.x.type, c.fma)) * 1e9;
  return static_cast<float>(0.0025 + c.flops() / rate);
}

}  // namespace gpusim
