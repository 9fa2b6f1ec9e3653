// SPDX-License-Identifier: Apache-2.0
//
// Messages about the events of imported traces: skipped, repaired, guessed, assigned; and about
// files that are read together (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::import_events {

// Events. {}: number of events, path, reason, categories
inline constexpr char kEventSkipped[] = "{} of {} is skipped ({}): {}";
inline constexpr char kEventsSkipped[] = "{} of {} are skipped ({}): {}";
// Behind the categories of time outliers. {}: their first and last time in us, those of the rest
inline constexpr char kOutlierTimes[] = " ({} to {}; the rest {} to {})";
// {}: path, repairs
inline constexpr char kRepaired[] = "repaired in {}: {}";

// Categories that are not known. {}: number of events, path, category in quotes, one of the kinds
// below
inline constexpr char kUnknownCategoryOne[] = "{} of {} with the unknown category {} is read as {}";
inline constexpr char kUnknownCategoryMany[] =
    "{} of {} with the unknown category {} are read as {}";
inline constexpr char kNoCategoryOne[] = "{} of {} without a category is read as {}";
inline constexpr char kNoCategoryMany[] = "{} of {} without a category are read as {}";
inline constexpr char kDeviceCollectives[] = "device collectives";
inline constexpr char kDeviceWork[] = "device work";
inline constexpr char kHostCollectives[] = "host collectives";
inline constexpr char kHostCalls[] = "host calls";
inline constexpr char kHostWaits[] = "host waits";
inline constexpr char kHostRanges[] = "host ranges";
inline constexpr char kCounterValues[] = "counter values";

// Other parts of a file. {}: members, path; number of bytes, path
inline constexpr char kMemberInvalid[] = "{} of {} is not valid JSON and is skipped";
inline constexpr char kMembersInvalid[] = "{} of {} are not valid JSON and are skipped";
inline constexpr char kTrailingByte[] = "{} after the gzip data of {} is not gzip and is not read";
inline constexpr char kTrailingBytes[] =
    "{} after the gzip data of {} are not gzip and are not read";

// Traces of which nothing is left, behind their path. {}: categories or reasons
inline constexpr char kNoEvents[] = "is a trace without events";
inline constexpr char kNoTimes[] =
    "has no event with a valid time and duration (at most 2^63 ns; {}): it is damaged or not a "
    "trace";
inline constexpr char kOtherTool[] =
    "is a trace of another tool: no event has a category of PyTorch or gpuprof ({})";
inline constexpr char kMarksOnly[] =
    "has nothing to show: it contains only arrows and marks, no operator, GPU work or sample ({})";
inline constexpr char kAllSkipped[] = "has nothing to show, because all its events are skipped: {}";
// {}: path
inline constexpr char kNothingToShow[] =
    "{} has nothing to show: no operator, range, step, call, GPU work, memory record or sample";
inline constexpr char kNothingToShowInAll[] =
    "{} and the other files have nothing to show: no operator, range, step, call, GPU work, "
    "memory record or sample";

// Processes and GPU work. {}: number of events, path
inline constexpr char kGpuEventAssigned[] =
    "{} of {} has no launch in the file, which contains several processes; gpuprof assigned it to "
    "the most likely one";
inline constexpr char kGpuEventsAssigned[] =
    "{} of {} have no launch in the file, which contains several processes; gpuprof assigned them "
    "to the most likely one";
inline constexpr char kGpuEventUnlinked[] =
    "{} is drawn without the host call that launched it: the file does not link it to a launch";
inline constexpr char kGpuEventsUnlinked[] =
    "{} are drawn without the host calls that launched them: the file does not link them to a "
    "launch";
// {}: process id with its label, path, process id shown
inline constexpr char kProcessRenumbered[] =
    "process {} of {} is shown as process {}: another process has the same id";
// {}: path, number of processes
inline constexpr char kOneRankStated[] =
    "{} contains {} processes and states only one rank; gpuprof does not know which process has "
    "it";
// {}: number of sets
inline constexpr char kInputSetSkipped[] =
    "{} of operator inputs is skipped: there are too many different ones";
inline constexpr char kInputSetsSkipped[] =
    "{} of operator inputs are skipped: there are too many different ones";

// Files together. {}: paths
inline constexpr char kSimulatedAndReal[] =
    "{} is from a simulated GPU and {} from a real one; name files of one kind";
inline constexpr char kSeveralRecordings[] =
    "the files come from {} recordings ({} and {} begin the first two), which gpuprof reads as "
    "one; name the files of one recording, and give each run its own folder (-o)";
// {}: path, path, process id, rank
inline constexpr char kSameProcess[] =
    "{} and {} both contain process {}{} at the same time, and each counts separately; if one is "
    "a copy or a merged file, name only one of them";
inline constexpr char kOfRank[] = " (rank {})";
// {}: the message above, number of files
inline constexpr char kMoreSameProcesses[] =
    "{} ({} files in all contain a process of another file)";

}  // namespace gpuprof::messages::import_events
