// SPDX-License-Identifier: Apache-2.0
//
// One active window of a session: what becomes one file per process.
//
// Context:  daemon
#pragma once

#include <cstdint>
#include <string>

namespace gpuprof::model {

struct Window {
  std::uint32_t index = 0;     // 0, 1, … in time order
  std::uint64_t start_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t end_ns = 0;
  std::uint64_t stamp_real_ns = 0;  // CLOCK_REALTIME of start_ns: the digits in file names
  std::uint64_t first_step = 0;     // session step numbers; steps == 0: not cut by steps
  std::uint64_t first_label = 0;    // what files call the first one
  std::uint64_t steps = 0;
  std::string why;  // "schedule", "whole run", "program ended", "span size", "no step seen", …
  /// Until here a loss that was reported is this window's: its last flush ends after end_ns. Where
  /// nothing follows: ~0.
  std::uint64_t settled_ns = 0;
  /// All that the program launched before it was recorded, too, and is for the window before.
  bool gapless = false;
  /// A loss before this is reported by the file of the window before, which was finalised then. 0:
  /// by none, so that this window's start counts.
  std::uint64_t losses_from_ns = 0;
};

}  // namespace gpuprof::model
