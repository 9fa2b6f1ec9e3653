// SPDX-License-Identifier: Apache-2.0
//
// Messages of schedules: windows that differ from what was requested, and progress
// (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::schedule {

// Steps of a window. {}: numbers of steps
inline constexpr char kStep[] = "step {}";
inline constexpr char kStepRange[] = "steps {} to {}";
inline constexpr char kStepAndLater[] = "step {} and later";

// Why there are no steps. {}: --step
inline constexpr char kNoStepSeen[] = "no step was seen (--step {})";
inline constexpr char kNoOperators[] =
    "no step can be seen without PyTorch's operators, which -t excludes";

// {}: why there are no steps, "program" or "recording"
inline constexpr char kNothingRecorded[] = "{}; nothing was recorded because of --on-no-step none";
inline constexpr char kFromFirstActivity[] =
    "{}; the file holds the first 5 s after the first operator or launch instead";
inline constexpr char kFromStart[] =
    "{}; the file holds the first 5 s after the start of the {} instead";

// Windows that differ. {}: number of the window, steps, "program" or "recording"
inline constexpr char kWindowTruncated[] = "window {} lacks its last {}: recording was already off";
inline constexpr char kWindowsMissed[] =
    "no file for {} between step {} and step {}: recording was off at that time";
inline constexpr char kRecordingStartedLate[] =
    "window {} holds {} instead of {}: recording was not yet on at its first step";
inline constexpr char kEndedInWindow[] = "window {} holds {} instead of {}: the {} ended";
inline constexpr char kEndedInStep[] =
    "window 1 holds only a part of step {}: the {} ended during the step";
inline constexpr char kEndedBeforeStep[] =
    "the {} ended after step {}, before the first window (step {})";
inline constexpr char kEndedBeforeTime[] =
    "the {} ended after {} ms, before the first window (after {} ms)";

// Progress. {}: the window, "window 2 of 3"
inline constexpr char kWindow[] = "window {}";
inline constexpr char kWindowOf[] = "window {} of {}";
inline constexpr char kConnecting[] = "connecting";
inline constexpr char kWaitingForStep[] = "waiting for a step";
inline constexpr char kWaitingForWindow[] = "waiting for {}";
inline constexpr char kRecordingWindow[] = "recording {}";
inline constexpr char kWritingTrace[] = "writing the trace";
inline constexpr char kWritingWindows[] = "writing the trace, {} windows left";

}  // namespace gpuprof::messages::schedule
