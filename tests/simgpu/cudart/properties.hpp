// SPDX-License-Identifier: Apache-2.0
//
// cudaDeviceProp of a simulated device.
//
// Context:  application threads
// Owns:     nothing
// Promises: agrees with the attributes the driver API gives
// Not here: the numbers (core/device_model.cpp)
#pragma once

#include <driver_types.h>

#include "core/objects.hpp"

namespace gpusim {

/// Fills every field.
void fill_properties(const Device& device, cudaDeviceProp* properties);

}  // namespace gpusim
