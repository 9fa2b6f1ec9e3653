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
/// No launch records, API calls, inputs of operators and memory.
inline constexpr std::uint32_t kThrottleApi = 2;
/// No operators and NVTX ranges, but for what steps are counted by.
inline constexpr std::uint32_t kThrottleHost = 4;
inline constexpr std::uint32_t kThrottleSamples = 8;
/// No steps among operators while recording.
inline constexpr std::uint32_t kThrottleSteps = 16;
/// The rate of samples is halved as often as the bits from here on say.
inline constexpr std::uint32_t kThrottleRateShift = 8;
inline constexpr std::uint32_t kThrottleRateMax = 7;

/// How often the rate of samples is halved.
constexpr std::uint32_t rate_halvings(std::uint32_t less) {
  return (less >> kThrottleRateShift) & kThrottleRateMax;
}

}  // namespace gpuprof::wire
