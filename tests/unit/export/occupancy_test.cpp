// SPDX-License-Identifier: Apache-2.0
//
// Known figures: NVIDIA's occupancy calculator for the named devices.
#include <gtest/gtest.h>

#include "analysis/export/resolve/occupancy.hpp"

namespace gpuprof::exporter {
namespace {

model::Device device(std::uint32_t major, std::uint32_t minor, std::uint32_t threads,
                     std::uint32_t shared_per_sm, std::uint32_t reserved, std::uint32_t blocks) {
  model::Device d{};
  d.compute_major = major;
  d.compute_minor = minor;
  d.sm_count = 100;
  d.warp_size = 32;
  d.max_threads_per_block = 1024;
  d.max_threads_per_sm = threads;
  d.max_blocks_per_sm = blocks;
  d.registers_per_block = d.registers_per_sm = 65536;
  d.shared_per_sm_bytes = shared_per_sm;
  d.shared_reserved_bytes = reserved;
  return d;
}
const model::Device kV100 = device(7, 0, 2048, 98304, 0, 32);
const model::Device kT4 = device(7, 5, 1024, 65536, 0, 16);
const model::Device kA100 = device(8, 0, 2048, 167936, 1024, 32);
const model::Device kA10 = device(8, 6, 1536, 102400, 1024, 16);
const model::Device kH100 = device(9, 0, 2048, 233472, 1024, 32);

TEST(ActiveBlocks, AreLimitedByWarpSlots) {
  EXPECT_EQ(active_blocks(kA100, 256, 32, 0), 8u);
  EXPECT_EQ(active_blocks(kA100, 1024, 32, 0), 2u);
  EXPECT_EQ(active_blocks(kA10, 1024, 32, 0), 1u);
  EXPECT_EQ(active_blocks(kA10, 512, 32, 0), 3u);
  EXPECT_EQ(active_blocks(kT4, 256, 32, 0), 4u);
}

TEST(ActiveBlocks, AreLimitedByBlockSlots) {
  EXPECT_EQ(active_blocks(kA100, 32, 16, 0), 32u);
  EXPECT_EQ(active_blocks(kT4, 32, 16, 0), 16u);
  EXPECT_EQ(active_blocks(kA10, 64, 16, 0), 16u);
}

TEST(ActiveBlocks, AreLimitedByRegisters) {
  EXPECT_EQ(active_blocks(kA100, 256, 64, 0), 4u);
  EXPECT_EQ(active_blocks(kH100, 128, 96, 0), 5u);  // 5 warps a partition: 20 warps, 4 a block
  EXPECT_EQ(active_blocks(kH100, 256, 255, 0), 1u);
  EXPECT_EQ(active_blocks(kV100, 1024, 64, 0), 1u);
  EXPECT_EQ(active_blocks(kV100, 1024, 65, 0), 0u);  // 72 registers a thread: does not start
  EXPECT_EQ(active_blocks(kV100, 96, 40, 0), 16u);   // 48 warps, 3 a block
  // As PyTorch's profiler reports these two on that device: 31 % and 100 %.
  EXPECT_EQ(active_blocks(kV100, 64, 88, 3328), 10u);
  EXPECT_EQ(active_blocks(kV100, 64, 19, 0), 32u);
}

TEST(ActiveBlocks, AreLimitedBySharedMemory) {
  EXPECT_EQ(active_blocks(kV100, 128, 32, 48 * 1024), 2u);
  EXPECT_EQ(active_blocks(kA100, 128, 32, 48 * 1024), 3u);  // 49 KiB with what is reserved
  EXPECT_EQ(active_blocks(kH100, 128, 32, 227 * 1024), 1u);
  EXPECT_EQ(active_blocks(kH100, 128, 32, 228 * 1024), 0u);
}

TEST(Occupancy, CountsOnlyWhatTheGridFills) {
  // given the shape of the worked example: 66 blocks of 128 on 132 multiprocessors
  model::Device d = kH100;
  d.sm_count = 132;
  model::Kernel kernel{};
  kernel.grid = {66, 1, 1};
  kernel.block = {128, 1, 1};
  kernel.registers = 64;
  kernel.static_shared_bytes = 16384;
  // when
  const Occupancy figures = occupancy(d, kernel);
  // then
  EXPECT_DOUBLE_EQ(figures.blocks_per_sm, 0.5);
  EXPECT_DOUBLE_EQ(figures.warps_per_sm, 2.0);
  EXPECT_EQ(figures.percent, 3u);
  // and when the grid is large, then the limit counts
  kernel.grid = {65535, 65535, 65535};
  EXPECT_EQ(occupancy(d, kernel).percent, 50u);
  EXPECT_GT(occupancy(d, kernel).blocks_per_sm, 2e12);
}

TEST(Occupancy, IsZeroForAnUnknownDevice) {
  model::Kernel kernel{};
  kernel.grid = kernel.block = {1, 1, 1};
  EXPECT_EQ(occupancy(model::Device{}, kernel).percent, 0u);
}

TEST(Occupancy, IsZeroForADeviceThatNobodyMakes) {
  model::Kernel kernel{};
  kernel.grid = kernel.block = {8, 1, 1};
  for (const std::uint32_t threads : {~0u, ~0u - 6, 1u << 24, 1025u}) {
    model::Device d = kA100;
    d.warp_size = threads;
    d.max_threads_per_block = d.max_threads_per_sm = ~0u;
    for (const std::uint32_t registers : {0u, 1u, 255u}) {
      kernel.registers = registers;
      EXPECT_EQ(occupancy(d, kernel).percent, 0u) << threads;
      EXPECT_EQ(active_blocks(d, 7, registers, 0), 0u) << threads;
    }
  }
}

}  // namespace
}  // namespace gpuprof::exporter
