// SPDX-License-Identifier: Apache-2.0
//
// What each simulated GPU says about itself: attribute numbers of real models under a simulated
// name.
//
// Context:  any
// Owns:     nothing
// Promises: every name says "Simulated GPU (gpuprof", every UUID begins with the bytes SIM
// Not here: memory in use (memory.hpp), time (timeline.hpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/config.hpp"

namespace gpusim {

/// Public data-sheet and driver-attribute numbers of one model.
struct DeviceModel {
  const char* label;
  int cc_major, cc_minor;
  int sm_count;
  int max_threads_per_sm, max_blocks_per_sm;
  int smem_per_sm, smem_per_block_optin, reserved_smem_per_block;
  int l2_bytes;
  int clock_khz, memory_clock_khz, bus_bits;
  std::uint64_t memory_bytes;
  double memory_gbps;  ///< bandwidth, 10^9 bytes a second
};

/// Numbers of a model.
const DeviceModel& device_model(Model model);

/// Value of CU_DEVICE_ATTRIBUTE_* number `attribute` for device `ordinal`; 0 where nothing is
/// known.
int device_attribute(const DeviceModel& m, int ordinal, int attribute);

/// Writes the name every device of the model has.
void device_name(const DeviceModel& m, char* out, std::size_t length);

/// Fills the 16 UUID bytes of device `ordinal`; the first three are "SIM".
void device_uuid(int ordinal, unsigned char* bytes);
/// The same as the text that NVML and CUDA_VISIBLE_DEVICES use, `GPU-…`.
void device_uuid_text(int ordinal, char* out, std::size_t length);

/// Blocks of the given shape that fit on one SM.
int max_active_blocks(const DeviceModel& m, int threads, int registers, int smem_bytes);

}  // namespace gpusim
