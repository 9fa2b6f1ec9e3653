// SPDX-License-Identifier: Apache-2.0
//
// The part of NVML's interface that the fake has, declared from its documentation.
//
// Context:  application threads
// Owns:     nothing
// Promises: sizes and numbers as in NVML's stable interface
// Not here: behaviour (system_api.cpp, device_api.cpp)
#pragma once

#include <cstdint>

#include "core/config.hpp"

namespace gpusim::nvml {

/// Result numbers.
enum Result : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
};

/// What a handle points at; the address is the handle.
struct Unit {
  int ordinal;
};

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
/// Third version; the second one ends after `subsystem`.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

/// PCI bus number of a device, the one the driver gives too.
constexpr unsigned pci_bus(int ordinal) { return 0x10u + static_cast<unsigned>(ordinal); }

/// Whether nvmlInit was called more often than nvmlShutdown.
bool started();

/// The device behind a handle if NVML was started, else null.
const Unit* unit_of(const void* handle);
/// The handle of device `ordinal`, or null.
const Unit* unit_at(unsigned ordinal);

/// Copies `text` as NVML does. @return Result.
int copy_text(const char* text, char* out, unsigned length);

}  // namespace gpusim::nvml
