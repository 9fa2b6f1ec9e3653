// SPDX-License-Identifier: Apache-2.0
//
// The driver's properties of the devices: queried once, by the worker thread.
//
// Context:  query_devices, record_devices: worker; fill_device_info: callback
// Owns:     a table of sixteen devices
// Promises: only queries that need no current context; never inside a callback
// Not here: CUPTI's device record (translate.hpp)
#pragma once

#include "gpuprof/wire/records.hpp"
#include "inject/cupti/library/driver.hpp"

namespace gpuprof::cupti {

/// Queries the driver; once it has answered, later calls do nothing. False: it did not.
bool query_devices(const Driver& driver);

/// Pushes one DeviceInfo per device.
void record_devices();

/// Fills in what CUPTI's record lacks from the driver's properties, if there are any.
void fill_device_info(wire::DeviceInfo* info);

}  // namespace gpuprof::cupti
