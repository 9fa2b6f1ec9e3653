// SPDX-License-Identifier: Apache-2.0
//
// Findings of `gpuprof diff`, in the terminal and in the page (docs/messages.md has the rules of
// their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::diff_findings {

inline constexpr char kNoSignificantChange[] = "No significant change";
inline constexpr char kSignificantChanges[] = "Significant changes";
inline constexpr char kUnconfirmedChanges[] = "Unconfirmed changes, seen in one pair of recordings";
inline constexpr char kUnconfirmedChangesOfPairs[] =
    "Unconfirmed changes, not shown by enough pairs";

// {}: pairs; kFewPairs: also pairs that are enough
inline constexpr char kUnconfirmedByOnePair[] =
    "The placement of memory and the processor can make one process faster or slower for its whole "
    "life. To confirm a change, record both programs again and compare all recordings: gpuprof "
    "diff BEFORE AFTER BEFORE2 AFTER2 BEFORE3 AFTER3";
inline constexpr char kUnconfirmedByFewPairs[] =
    "The placement of memory and the processor can make one process, and by chance {} of them, "
    "faster or slower for their whole life. A change of time alone is significant only if each of "
    "at least {} pairs shows it.";
inline constexpr char kUnconfirmedByManyPairs[] =
    "The placement of memory and the processor can make one process faster or slower for its whole "
    "life. A change is significant only if each of the {} pairs shows it.";

// A name. {}: time, share of the step
inline constexpr char kGonePerStep[] = "gone, took {} per step, {} of the step";
inline constexpr char kGonePerCall[] = "gone, took {} per call, {} of the step";
inline constexpr char kNewPerStep[] = "new, takes {} per step, {} of the step";
inline constexpr char kNewPerCall[] = "new, takes {} per call, {} of the step";
// {}: which of its times, before, after, change, what the change is of the step
inline constexpr char kTimePerStep[] = "{} {} → {} per step, {}, {:+.1f} % of the step";
inline constexpr char kTimePerCall[] = "{} {} → {} per call, {}";
inline constexpr char kSelfTime[] = "self time";
inline constexpr char kTotalTime[] = "total time";
inline constexpr char kLaunchedGpuTime[] = "launched GPU time";
inline constexpr char kGpuTime[] = "GPU time";
// Its details
inline constexpr char kCalls[] = "called {} → {} times per step";
inline constexpr char kInnerCalls[] = "calls inside each: {}";
inline constexpr char kInputs[] = "inputs: {} → {}";

// A metric, a peak of memory. {}: before, after, change
inline constexpr char kMetricPerStep[] = "{} → {} per step, {}";
inline constexpr char kMetricPerSlice[] = "{} → {} per slice, {}";
inline constexpr char kPeak[] = "{} → {}, {}";

// Evidence
inline constexpr char kSpread[] = "spread from step to step: {} before, {} after";
inline constexpr char kNoiseLimit[] =
    "noise limit: {}; change without the common factor: {:+.1f} %";
inline constexpr char kRankTest[] = "rank test over blocks of steps: p = {:.2g}";
inline constexpr char kCallsAreCertain[] =
    "the number of calls is the same in every run of a program: noise does not explain its change";
inline constexpr char kPeaksOfSteps[] = "the peaks of the usual step differ, too";
// {}: a finding; pairs that show it, all
inline constexpr char kShownBy[] = "{}, shown by {} of {} pairs";
inline constexpr char kShownByEvidence[] =
    "shown by {} of {} pairs of recordings, in the same direction";

// What all operators, or kernels and copies, have in common. {}: which of these
inline constexpr char kCommonFactor[] =
    "All {} took {:.2f} times as long (the machine, or something common to all). Findings exclude "
    "this factor.";
inline constexpr char kUndetectable[] =
    "Other changes of {} cannot be detected: their times vary too much between steps or processes.";
inline constexpr char kDetectable[] =
    "For {}, a change of about {:.0f} % can be detected if it is at least {:g} % of the step.";

// A recording. {}: its name; seconds, or steps and warm-up steps
inline constexpr char kRecordedSeconds[] = "{}: {:.1f} s";
inline constexpr char kRecordedSteps[] = "{}: {}";
inline constexpr char kRecordedStepsAndWarmUp[] = "{}: {}, {} left out";

inline constexpr char kSimulatedGpu[] = "GPU work ran on the simulated GPU.";

}  // namespace gpuprof::messages::diff_findings
