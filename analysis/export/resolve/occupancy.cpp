// SPDX-License-Identifier: Apache-2.0
//
// The occupancy rules: docs/trace-format.md lists them with their sources.
//
// Context:  any
#include "analysis/export/resolve/occupancy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kRegisterUnit = 256;  // registers are given out to warps in these

/// Schedulers that share a multiprocessor's registers.
std::uint32_t partitions(const model::Device& device) {
  return device.compute_major == 6 && device.compute_minor == 0 ? 2 : 4;
}

/// Larger ones than any are a file's, not a device's.
bool has_warps(const model::Device& device) {
  constexpr std::uint32_t kMaxWarpSize = 1024;
  return device.warp_size != 0 && device.warp_size <= kMaxWarpSize;
}

/// For drivers that do not tell it.
std::uint32_t block_slots(const model::Device& device) {
  if (device.max_blocks_per_sm != 0) return device.max_blocks_per_sm;
  switch (device.compute_major * 10 + device.compute_minor) {
    case 75:
    case 86:
    case 87:
      return 16;
    case 89:
    case 120:
    case 121:
      return 24;
    default:
      return 32;
  }
}

std::uint32_t by_registers(const model::Device& device, std::uint32_t warps,
                           std::uint32_t registers) {
  if (registers == 0 || device.registers_per_sm == 0) return kUnlimited;
  const std::uint32_t cap = device.compute_major >= 7 ? 256 : 255;
  if (registers > cap) return 0;
  const std::uint32_t parts = partitions(device);
  const auto warp_registers = static_cast<std::uint32_t>(
      base::align_up(std::uint64_t{registers} * device.warp_size, kRegisterUnit));
  const auto block_warps = static_cast<std::uint32_t>(base::align_up(warps, parts));
  if (device.registers_per_block != 0 && warp_registers * block_warps > device.registers_per_block)
    return 0;
  // Whether one block starts goes by whole rounds over the partitions, how many by warps.
  const std::uint32_t warps_per_part = device.registers_per_sm / parts / warp_registers;
  return warps_per_part * parts / warps;
}

std::uint32_t by_shared_memory(const model::Device& device, std::uint32_t shared_bytes) {
  if (device.shared_per_sm_bytes == 0) return kUnlimited;
  const std::uint32_t unit = device.compute_major >= 8 ? 128 : 256;
  const std::uint64_t block =
      base::align_up(std::uint64_t{shared_bytes} + device.shared_reserved_bytes, unit);
  return block == 0 ? kUnlimited : static_cast<std::uint32_t>(device.shared_per_sm_bytes / block);
}

}  // namespace

std::uint32_t active_blocks(const model::Device& device, std::uint32_t threads,
                            std::uint32_t registers, std::uint32_t shared_bytes) {
  if (!has_warps(device) || device.max_threads_per_sm == 0 || threads == 0) return 0;
  if (device.max_threads_per_block != 0 && threads > device.max_threads_per_block) return 0;
  const std::uint32_t warps = (threads + device.warp_size - 1) / device.warp_size;
  const std::uint32_t warp_slots = device.max_threads_per_sm / device.warp_size;
  return std::min({warp_slots / warps, by_registers(device, warps, registers),
                   by_shared_memory(device, shared_bytes), block_slots(device)});
}

Occupancy occupancy(const model::Device& device, const model::Kernel& kernel) {
  Occupancy result;
  // In double: the product of three grid sizes may exceed 64 bits.
  const double blocks =
      static_cast<double>(kernel.grid[0]) * kernel.grid[1] * static_cast<double>(kernel.grid[2]);
  const std::uint64_t threads = std::uint64_t{kernel.block[0]} * kernel.block[1] * kernel.block[2];
  if (device.sm_count == 0 || !has_warps(device) || threads > 1u << 20) return result;
  result.blocks_per_sm = blocks / device.sm_count;
  result.warps_per_sm = result.blocks_per_sm * static_cast<double>(threads) / device.warp_size;
  result.active_blocks =
      active_blocks(device, static_cast<std::uint32_t>(threads), kernel.registers,
                    kernel.static_shared_bytes + kernel.dynamic_shared_bytes);
  if (device.max_threads_per_sm != 0) {
    const double resident = std::min<double>(result.active_blocks, result.blocks_per_sm);
    result.percent = static_cast<std::uint32_t>(
        std::lround(100.0 * resident * static_cast<double>(threads) / device.max_threads_per_sm));
  }
  return result;
}

}  // namespace gpuprof::exporter
