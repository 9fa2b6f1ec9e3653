// SPDX-License-Identifier: Apache-2.0
//
// Messages of the overview of `gpuprof report` (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::report_overview {

// Headings
inline constexpr char kWaits[] = "Waits for a GPU";
inline constexpr char kLines[] = "Lines of the program";
inline constexpr char kMissingData[] = "Missing data";
inline constexpr char kImportMessages[] = "Skipped or repaired on import";
// {}: heading, name of a table
inline constexpr char kAllRows[] = "{} (all: --by {})";
// {}: CPU, CUDA
inline constexpr char kOperators[] = "Operators by self {} time (all: --by operator)";

// A process. {}: rank
inline constexpr char kRank[] = "rank {}, ";
// {}: process id, host
inline constexpr char kProcess[] = "process {}";
inline constexpr char kProcessOnHost[] = "process {} on {}";
// {}: command, one of these two
inline constexpr char kCommand[] = "{} ({})";
inline constexpr char kOnSimulatedGpu[] = ", on the simulated GPU";

// What was recorded. {}: length, number of windows, numbers of events by kind
inline constexpr char kRecorded[] = "{}: {}";
inline constexpr char kRecordedInWindows[] = "{} in {} windows: {}";
// Behind a number
inline constexpr char kSampleRuns[] = "runs of samples with the same stack";

// Steps
inline constexpr char kSteps[] = "{} of {}: mean {}, p50 {}, p90 {}, p99 {}, longest {}";
inline constexpr char kNoSteps[] = "{} in total; no step was recorded";
// {}: step, length
inline constexpr char kWarmUpStep[] = "Step {} is a warm-up step: {}";
inline constexpr char kOneMoreWarmUpStep[] = "1 more step is a warm-up step";
inline constexpr char kMoreWarmUpSteps[] = "{} more steps are warm-up steps";

// {}: time, and what it consists of
inline constexpr char kOverhead[] =
    "{} in CUPTI and the driver, not in any operator's self time: {}";

// {}: CPU or GPU, bytes at the peak, allocated bytes, number of allocations
inline constexpr char kMemory[] = "{}: peak {}, {} allocated in {}";
inline constexpr char kMemoryAboveLowest[] =
    "{}: peak {} above the lowest level, {} allocated in {}";

}  // namespace gpuprof::messages::report_overview
