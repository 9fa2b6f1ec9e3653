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
inline constexpr char kClockAmbiguousNs[] = "clock.ambiguous_by_ns";

/// Records whose times were converted before the rate of their clock was known to 1 ppm.
inline constexpr char kClockImprecise[] = "clock.rough_records";
/// To how many millionths it was known, at worst.
inline constexpr char kClockImprecisePpm[] = "clock.rough_ppm";

}  // namespace gpuprof::model
