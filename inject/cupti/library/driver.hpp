// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver of this process: whether it is mapped, whether it is real, how new it is.
//
// Context:  worker | boundary
// Owns:     nothing: the driver is never opened by us, only found
// Promises: never maps libcuda into a process that has not done so itself
// Not here: properties of devices (devices.hpp)
#pragma once

#include <cstdint>

#include "inject/modules/pinned_module.hpp"

namespace gpuprof::cupti {

struct Driver {
  modules::PinnedModule handle;  // empty: libcuda is not mapped, or is being loaded
  bool stub = false;             // the toolkit's link-time stub
  bool simulated = false;        // a simulated GPU says so itself
  std::uint32_t version = 0;     // cuDriverGetVersion: 12040, 13000; 0: unknown
  char path[512] = {};
};

/// Looks up the mapped driver.
Driver find_driver();

/// Whether cuInit has succeeded: the driver can be queried.
bool driver_ready(const Driver& driver);

}  // namespace gpuprof::cupti
