// SPDX-License-Identifier: Apache-2.0
//
// How long a GPU had nothing to do because the host was still on its way to the next launch.
//
// Context:  any
#pragma once

#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

/// Longer than this between two operators the program does something else than launching.
inline constexpr std::uint64_t kMaxLaunchPauseNs = 100'000;

/// Of one window: time in which a GPU was idle, until a kernel began whose launch had not begun
/// when the GPU became idle; only what of it lies in steps (without any: in the window), and in
/// which some thread ran operators and calls with no longer pauses between them than
/// kMaxLaunchPauseNs. So a data loader, a sleep, or a wait between batches is not in it. With
/// several GPUs that of the one that waited longest.
std::uint64_t launch_gap_ns(const Timeline& timeline, const Dictionary& dictionary);

}  // namespace gpuprof::report
