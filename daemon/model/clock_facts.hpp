// SPDX-License-Identifier: Apache-2.0
//
// Keys of the facts about the clock of GPU records that more than one part reads.
//
// Context:  daemon
#pragma once

namespace gpuprof::model {

/// Records that came while CUPTI's clock changed and fit both clocks.
inline constexpr char kClockAmbiguous[] = "clock.ambiguous_records";
/// By how many nanoseconds their times may be off.
inline constexpr char kClockAmbiguousBy[] = "clock.ambiguous_by_ns";

}  // namespace gpuprof::model
