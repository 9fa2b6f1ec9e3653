// SPDX-License-Identifier: Apache-2.0
//
// What is left out of a recording that costs more than --max-overhead: bits of Plan::throttle.
//
// Context:  any
// Not here: who decides (daemon/session/target/governor.hpp)
#pragma once

#include <cstdint>

namespace gpuprof::wire {

/// No stacks of launches and operators, no modules, no native frames beside Python's.
inline constexpr std::uint32_t kThrottleStacks = 1;
/// No launch records, API calls, operator inputs or memory records.
inline constexpr std::uint32_t kThrottleApi = 2;
/// No operators or NVTX ranges, except those by which steps are counted.
inline constexpr std::uint32_t kThrottleHost = 4;
inline constexpr std::uint32_t kThrottleSamples = 8;
/// No steps among operators while recording.
inline constexpr std::uint32_t kThrottleSteps = 16;
/// The sampling rate is halved as many times as the bits from here on say.
inline constexpr std::uint32_t kThrottleRateShift = 8;
inline constexpr std::uint32_t kThrottleRateMax = 7;

/// How many times the sampling rate is halved.
constexpr std::uint32_t rate_halvings(std::uint32_t less) {
  return (less >> kThrottleRateShift) & kThrottleRateMax;
}

}  // namespace gpuprof::wire
