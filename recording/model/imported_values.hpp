// SPDX-License-Identifier: Apache-2.0
//
// Values of fields of events.hpp that only imported traces have: what the writer recorded an event
// as, where the event's name does not tell.
//
// Context:  any
// Owns:     nothing
#pragma once

#include <cstdint>

namespace gpuprof::model {

/// ApiCall::api.
inline constexpr std::uint32_t kApiDriver = 1, kApiRuntime = 2;
/// A wait of the host for a device that was recorded by itself.
inline constexpr std::uint32_t kApiWait = 3;

/// Bit of Operator::flags: a collective.
inline constexpr std::uint32_t kOpCollective = 256;

/// Kernel::channel of a collective of a device that has no channels.
inline constexpr std::uint32_t kChannelOfCollective = 0xfffffffe;

}  // namespace gpuprof::model
