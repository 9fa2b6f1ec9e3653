// SPDX-License-Identifier: Apache-2.0
//
// Which steps at a program's begin are warm-up steps: compilation, lazy loading, choice of
// algorithms, caches and allocators.
//
// Context:  cli
// Owns:     nothing
// Promises: decided by lengths alone, so that text, JSON, page and advice leave out the same steps
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "recording/model/events.hpp"

namespace gpuprof::report {

/// Whether a recording that begins with this step saw the first one of the program. In a later
/// window the first recorded step is one as any other.
bool is_first_program_step(const model::Step& step);

/// How many of the steps at the begin are warm-up steps: the first, and those directly after it, as
/// long as each takes kWarmUpFactor times what the later half takes in the middle
/// (kWarmUpFactorFewSteps where there are few) and more than nine of ten of these. At most a third
/// of all; of two steps the first.
///
/// @param lengths Of all steps recorded, in order, the program's first one in front.
std::size_t count_warm_up_steps(std::span<const std::uint64_t> lengths);

inline constexpr double kWarmUpFactor = 1.5, kWarmUpFactorFewSteps = 2;
inline constexpr std::size_t kFewSteps = 4;

}  // namespace gpuprof::report
