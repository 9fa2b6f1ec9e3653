// SPDX-License-Identifier: Apache-2.0
//
// Finds libcuda among what is mapped.
//
// Context:  worker | boundary
// Owns:     nothing
#include "inject/cupti/library/driver.hpp"

#include <cuda.h>

#include <cstring>

#include "inject/cupti/library/mapped_libraries.hpp"

namespace gpuprof::cupti {

Driver find_driver() {
  Driver driver;
  MappedLibrary found;
  if (find_mapped_libraries("libcuda.so", &found, 1) == 0) return driver;
  driver.handle = pin_library(found.path);
  if (!driver.handle) return driver;
  copy_text(driver.path, sizeof driver.path, found.path);
  driver.stub = std::strstr(found.path, "/stubs/") != nullptr;
  driver.simulated = driver.handle.symbol("gpuprof_simulated_gpu") != nullptr;
  const auto get_version =
      driver.handle.function<decltype(&::cuDriverGetVersion)>("cuDriverGetVersion");
  int version = 0;
  if (!driver.stub && get_version != nullptr && get_version(&version) == CUDA_SUCCESS)
    driver.version = static_cast<std::uint32_t>(version);
  return driver;
}

bool driver_ready(const Driver& driver) {
  if (!driver.handle || driver.stub) return false;
  const auto get_count = driver.handle.function<decltype(&::cuDeviceGetCount)>("cuDeviceGetCount");
  int count = 0;
  return get_count != nullptr && get_count(&count) == CUDA_SUCCESS;
}

}  // namespace gpuprof::cupti
