// SPDX-License-Identifier: Apache-2.0
//
// How much memory simulated devices may pretend to have: what a program stores on them is stored in
// this machine's memory.
//
// Context:  tools
// Owns:     nothing
// Promises: never more than three quarters of what the machine, the control group and the limit of
//           the address space leave free, together for all devices and ranks
#pragma once

#include <cstdint>
#include <string>

namespace gpusim {

/// Bytes that all simulated devices together may take.
/// @param root in front of /proc and /sys, for tests
std::uint64_t usable_host_memory(const std::string& root = "");

/// How many processes or devices share it: the devices, or the ranks where there are more of them,
/// as WORLD_SIZE, LOCAL_WORLD_SIZE or torchrun's --nproc-per-node say.
int count_memory_sharers(int devices, char* const* command);

}  // namespace gpusim
