// SPDX-License-Identifier: Apache-2.0
//
// Messages of what `gpuprof export`, `report` and `diff` do (docs/messages.md has the rules of
// their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::analysis_commands {

// Inputs
inline constexpr char kNoInput[] = "no recording given; name a session folder or a trace file";
// {}: path
inline constexpr char kSessionAmongOthers[] =
    "{} is a gpuprof session and cannot be combined with other inputs; name it alone";
inline constexpr char kOutputIsInput[] = "{} is an input; name another file for the page";

// Sessions whose daemon died. {}: process id, reason
inline constexpr char kProcess[] = "process {}: {}";
// {}: process id, size such as "12 bytes"
inline constexpr char kSpoolDamaged[] =
    "process {}: the end of its spool is damaged; the last {} could not be read";
inline constexpr char kSpoolIncomplete[] =
    "process {}: its spool ends in an incomplete block; the last {} could not be read";
inline constexpr char kNoEvents[] = "no process in it recorded any event";
inline constexpr char kEndedEarly[] =
    "the session did not end normally; events that its daemon had not yet received are lost";

// Export. {}: path
inline constexpr char kNoOutputFolder[] = "{} does not state an output folder; name one with -o";
// {}: path, reason
inline constexpr char kCannotExport[] = "cannot export {}: {}";
// {}: reason, number of the window, number of windows
inline constexpr char kWindowsNotWritten[] =
    "{}; window {} of {} and any later windows were not written";
// What runs out of memory, behind "to"
inline constexpr char kReadAndWriteTrace[] = "read the recording and write the trace";

// Report. {}: path, reason
inline constexpr char kCannotReport[] = "cannot report on {}: {}";
// {}: rule, " (did you mean X?)" or nothing, rules
inline constexpr char kUnknownRule[] = "there is no rule {}{}; --fail-on accepts `any`, {}";
inline constexpr char kAdviceAsCsv[] = "--advice-only cannot be combined with --csv; use --json";
inline constexpr char kAdviceAsTable[] = "--advice-only cannot be combined with --by";
inline constexpr char kSimulatedGpu[] = "The GPU is simulated: none of its times is measured.\n";

// Diff. {}: path, reason
inline constexpr char kCannotCompare[] = "cannot compare {}: {}";
// {}: number such as "1 recording"
inline constexpr char kNotPairs[] =
    "diff compares recordings in pairs, BEFORE AFTER [BEFORE2 AFTER2...], but got {}";
// {}: path
inline constexpr char kNamedTwice[] =
    "{} is named twice; each pair needs two recordings of its own";

}  // namespace gpuprof::messages::analysis_commands
