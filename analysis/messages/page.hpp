// SPDX-License-Identifier: Apache-2.0
//
// Messages of the page of `gpuprof report --html`: its file, advice, timeline, what it leaves out
// (docs/messages.md has the rules of their wording). Those of its scripts:
// report/page/web/texts.js.
//
// Context:  any
#pragma once

namespace gpuprof::messages::page {

// The file. {}: path in quotes, reason; kCannotWrite: also a hint of support::write_error_hint
inline constexpr char kCannotWrite[] = "cannot write the page {}: {}{}";
inline constexpr char kCannotWriteNoFolder[] =
    "cannot write the page {}: {}; create its folder first, or choose another";
inline constexpr char kCannotWriteNoAccess[] =
    "cannot write the page {}: {}; choose a folder that you may write to";
inline constexpr char kIsFolder[] = "{} is a folder; give a file name for the page";
inline constexpr char kExists[] =
    "{} already exists; choose another file, or replace it with --force";

// Advice. {}: a duration; where the line is known from; processes
inline constexpr char kTimePerStep[] = "time per step: {}";
inline constexpr char kLineSource[] = "source of the line: {}";
inline constexpr char kWorstOfProcesses[] =
    "applies to {} processes; the figures are from the worst one";

// What is not in the page. {}: title of a table, rows; title of a tree, frames; rows, of all
inline constexpr char kRowsLeftOut[] =
    "{}: {} with the smallest values. gpuprof report lists all rows.";
inline constexpr char kFramesLeftOut[] = "Flame graph, {}: {} combined as (smaller frames).";
inline constexpr char kModulesLeftOut[] = "Modules: {} of {} rows.";

// The timeline: titles of its sections
inline constexpr char kWholeRecording[] = "whole recording";
inline constexpr char kBusiestSection[] = "busiest section";
// {}: sections, steps; a duration, events
inline constexpr char kStepsShown[] = "The timeline shows {} of {} steps.";
inline constexpr char kNoStepsFound[] =
    "No steps were found. The timeline shows the section with the most events per second.";
inline constexpr char kSectionIsCut[] =
    "This section is cut off after {}: {} that began later did not fit in this page. "
    "gpuprof export writes a file with all events.";

}  // namespace gpuprof::messages::page
