// SPDX-License-Identifier: Apache-2.0
//
// Messages about options and the summary of a session (docs/messages.md has the rules of their
// wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::recording_options {

// Options as text. {}: key, value
inline constexpr char kWrongValue[] = "session option {} cannot be \"{}\"";
inline constexpr char kMixedUnits[] =
    "the schedule mixes steps and time; give all its parts in one unit";
inline constexpr char kLineWithoutEquals[] = "the session options have a line without '=': \"{}\"";
inline constexpr char kWrongEscape[] = "session option {} has an invalid escape sequence";
inline constexpr char kUnknownOption[] = "session option {} is unknown to this version";

// --step. {}: what was given, in quotes
inline constexpr char kStepWithoutLine[] =
    "--step: expected loop:FILE:LINE with the line where the loop begins, such as "
    "loop:train.py:37, got {}";
inline constexpr char kStepTooLarge[] =
    "--step kernel: {} repeats too much for the memory of the program; use * or + instead of "
    "bounds in braces";
inline constexpr char kStepNotRegex[] =
    "--step kernel: {} is not an extended regular expression: {}; escape special characters with a "
    "backslash";
inline constexpr char kStepWithoutRange[] = "--step: expected a range name after the colon, got {}";
inline constexpr char kStepWithoutRegex[] =
    "--step: expected a regular expression after the colon, got {}";
inline constexpr char kUnknownStep[] = "--step: expected {}, got {}";

// --max-overhead
inline constexpr char kWrongOverhead[] =
    "--max-overhead: expected a share of a thread's time between 0.1% and 50%, or off, got {}";

// The summary. {}: reason
inline constexpr char kSummaryUnreadable[] = "the summary is {}";
inline constexpr char kSummaryField[] = "the summary has a field of an unexpected type";

}  // namespace gpuprof::messages::recording_options
