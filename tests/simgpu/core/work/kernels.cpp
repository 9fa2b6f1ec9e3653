// SPDX-License-Identifier: Apache-2.0
//
// Figures, checks and launch of a program's kernels.
//
// Context:  application threads
// Owns:     nothing
// Promises: see kernels.hpp
// Not here: times (timeline.cpp)
#include "core/work/kernels.hpp"

#include <driver_types.h>

#include <algorithm>
#include <cstring>

#include "core/driver.hpp"
#include "core/work/timeline.hpp"

namespace gpusim {
namespace {

constexpr int kDefaultSmem = 49152;

/// Invented but stable: the same name always has the same registers and shared memory.
KernelFigures invent_figures(const char* name) {
  std::uint32_t h = 2166136261u;
  for (const char* p = name; *p != '\0'; ++p) h = (h ^ static_cast<unsigned char>(*p)) * 16777619u;
  const bool tensor =
      std::strstr(name, "gemm") != nullptr || std::strstr(name, "s16816") != nullptr;
  KernelFigures f;
  f.registers = static_cast<std::uint16_t>(tensor ? 128 + h % 96 : 16 + h % 48);
  f.static_smem = tensor ? 16384 : (h >> 8) % 4 * 512;
  return f;
}

/// Threads of a block that the register file of one SM allows, and the launch bounds.
int largest_block(const KernelFigures& f) {
  const int per_warp = (std::max<int>(1, f.registers) * 32 + 255) / 256 * 256;
  const int by_registers = std::min(1024, 65536 / per_warp / 4 * 4 * 32);
  return f.max_threads > 0 ? std::min(by_registers, static_cast<int>(f.max_threads)) : by_registers;
}

}  // namespace

Function* create_function(Module* module, const char* name, const FigureTable* figures) {
  auto* f = new Function;
  f->module = module;
  f->name = intern(name);
  const auto known = figures != nullptr ? figures->find(f->name) : FigureTable::const_iterator{};
  const bool found = figures != nullptr && known != figures->end();
  const KernelFigures k = found ? known->second : invent_figures(f->name);
  f->registers = k.registers;
  f->static_smem = k.static_smem;
  f->local_bytes = k.local_bytes;
  f->architecture = k.architecture;
  f->max_threads = largest_block(k);
  return f;
}

int check_launch(const Function& function, const DeviceModel& model, const LaunchShape& s) {
  const std::uint64_t threads = std::uint64_t{s.block[0]} * s.block[1] * s.block[2];
  if (threads == 0 || threads > 1024 || s.block[2] > 64 || s.grid[0] == 0 || s.grid[1] == 0 ||
      s.grid[2] == 0 || s.grid[0] > 2147483647u || s.grid[1] > 65535 || s.grid[2] > 65535)
    return cudaErrorInvalidConfiguration;
  const auto allowed = static_cast<std::size_t>(
      std::max(kDefaultSmem - static_cast<int>(function.static_smem), function.max_dynamic_smem));
  if (s.dynamic_smem > allowed ||
      s.dynamic_smem + function.static_smem > static_cast<std::size_t>(model.smem_per_block_optin))
    return cudaErrorInvalidValue;
  if (threads > static_cast<std::uint64_t>(function.max_threads))
    return cudaErrorLaunchOutOfResources;
  const std::uint64_t blocks = std::uint64_t{s.grid[0]} * s.grid[1] * s.grid[2];
  if (s.cooperative &&
      blocks > static_cast<std::uint64_t>(model.sm_count) *
                   static_cast<std::uint64_t>(
                       resident_blocks(function, model, static_cast<int>(threads), s.dynamic_smem)))
    return cudaErrorCooperativeLaunchTooLarge;
  return cudaSuccess;
}

DeviceOp describe_launch(const Function& function, const LaunchShape& shape) {
  DeviceOp op{};
  op.kind = OpKind::kKernel;
  op.async = true;
  op.name = function.name;
  op.registers = function.registers;
  op.static_smem = function.static_smem;
  op.dynamic_smem = static_cast<std::uint32_t>(shape.dynamic_smem);
  op.cooperative = shape.cooperative;
  for (int i = 0; i < 3; ++i) {
    op.grid[i] = shape.grid[i];
    op.block[i] = shape.block[i];
    op.cluster[i] = shape.cluster[i];
  }
  return op;
}

int launch_function(const Function& function, Stream* stream, const LaunchShape& shape) {
  DeviceOp op = describe_launch(function, shape);
  return submit(stream, op);
}

int resident_blocks(const Function& function, const DeviceModel& model, int threads,
                    std::size_t dynamic_smem) {
  return max_active_blocks(model, threads, function.registers,
                           static_cast<int>(function.static_smem + dynamic_smem));
}

}  // namespace gpusim
