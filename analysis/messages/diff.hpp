// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof diff` about the recordings that it compares (docs/messages.md has the rules
// of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::diff {

// Refusals. {}: recording in quotes, rank
inline constexpr char kNoRank[] = "no process of {} has rank {}";
inline constexpr char kNothingToCompare[] =
    "there is nothing to compare in {}: it has no operator, range, GPU work or step";
// {}: the recording with a simulated GPU, the one with a real GPU
inline constexpr char kSimulatedAndReal[] =
    "{} has GPU work of a simulated GPU and {} of a real one; compare recordings of the same kind";
// {}: recording before, after, its processes, those of the other
inline constexpr char kNoCounterparts[] =
    "no process of {} has a counterpart in {}: {} before, {} after";

// Notes: what is not compared, or less well. {}: processes; steps, steps that are enough
inline constexpr char kOnlyBefore[] = "only before, not compared: {}";
inline constexpr char kOnlyAfter[] = "only after, not compared: {}";
inline constexpr char kTooFewSteps[] =
    "{} after warm-up: too few to tell a change from noise; record at least {}";
inline constexpr char kFewSteps[] =
    "only {} steps: to be significant, a change must be twice as large and in every step; record "
    "at least {}";
inline constexpr char kNoSteps[] =
    "no steps: times are compared by call, over equal slices of each recording";
inline constexpr char kStepsInOne[] =
    "steps in one recording only: times are compared by call, over equal slices of each recording";
inline constexpr char kMemoryOnlyBefore[] = "memory was recorded only before";
inline constexpr char kMemoryOnlyAfter[] = "memory was recorded only after";
// {}: limit, names before, after
inline constexpr char kTooManyNames[] =
    "more than {} names: {} before and {} after are added up as (other)";

// Notes: what differs. {}: what, before, after
inline constexpr char kDiffers[] = "{}: {} before, {} after";
inline constexpr char kNoGpus[] = "none in use";
inline constexpr char kRanksDiffer[] = "ranks in the job: {} before, {} after";
inline constexpr char kInputsDiffer[] = "input shapes or types differ in {}";

// Several pairs. {}: pairs; number, recordings
inline constexpr char kPairs[] =
    "{} pairs of recordings: the figures are from the first; only changes that every pair shows "
    "are significant";
inline constexpr char kPair[] = "pair {}: before {}, after {}";

}  // namespace gpuprof::messages::diff
