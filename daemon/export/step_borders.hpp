// SPDX-License-Identifier: Apache-2.0
//
// Does a range nest with the steps of its thread?
//
// Context:  daemon (export thread) | cli
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/model/events.hpp"

namespace gpuprof::exporter {

struct Interval {
  std::uint64_t start_ns, end_ns;
};

/// The interval to draw, or nothing if the range crosses a step's border. A range that misses a
/// border by less than kSnapNs, as the one that makes the step may, is cut to fit.
///
/// @param steps Sorted by start.
inline constexpr std::uint64_t kSnapNs = 20'000;
std::optional<Interval> fit_into_steps(const std::vector<model::Step>& steps, std::uint32_t tid,
                                       std::uint64_t start_ns, std::uint64_t end_ns);

}  // namespace gpuprof::exporter
