// SPDX-License-Identifier: Apache-2.0
//
// Messages of the summary at the end of a recording.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::summary {

// Files. {}: number of files, folder, bytes, events
inline constexpr char kNoFile[] = "no trace file was written";
inline constexpr char kFiles[] = "{} in {} ({}, {})";
inline constexpr char kMoreFiles[] = "  and {} more";
inline constexpr char kOfProcess[] = "process {}, {}";

// {}: windows, time; steps, first step
inline constexpr char kWindows[] = "{}, {} recorded";
inline constexpr char kWindowsOfSteps[] = "{}, {} recorded, {} starting at step {}";

// Events and drops. {}: counts by kind or reason
inline constexpr char kDropsUnknown[] = "unknown";
inline constexpr char kOtherDropsUnknown[] = "{}, others unknown";
inline constexpr char kRingFull[] = "  lost because a ring buffer was full: {}";
inline constexpr char kRingAdvice[] =
    "  the daemon fell behind a thread; record less, or leave the daemon a processor "
    "(docs/losses.md)";

// Processes. {}: number, roles
inline constexpr char kProcesses[] = "{} processes seen";
inline constexpr char kProcessesByRole[] = "{} processes seen: {}";
inline constexpr char kProcessesLeftOut[] =
    "{} processes seen: {}; write a file for each with --all-processes";

// Overhead. {}: time, percent, recorded time
inline constexpr char kOverhead[] =
    "overhead: {} of CPU time in gpuprof's worker threads ({:.2f} % of {}), {}";
inline constexpr char kNoStacks[] = "no stacks sampled";
inline constexpr char kSampledBy[] = "{} by {}";
inline constexpr char kSampledAtRate[] = "{} by {} at {:.0f} Hz";
inline constexpr char kDaemonOverhead[] = "overhead: {} of CPU time in the daemon";
inline constexpr char kDaemonOverheadMemory[] =
    "overhead: {} of CPU time and {} of memory in the daemon";
inline constexpr char kOverheadLimit[] =
    "highest overhead in the program: {:.2f} % of one thread in one second (--max-overhead {}), {}";

// What else there is to know. {}: connections
inline constexpr char kRefused[] = "{} refused: another user, another version or an ended session";
inline constexpr char kSimulated[] =
    "the GPU is simulated: it computed nothing and its times are not measured";

// What is left to do. {}: the spool
inline constexpr char kRecoverWith[] = "recover with: gpuprof export {}";
inline constexpr char kRecoverElsewhere[] =
    "recover with: gpuprof export -o OTHER {} (OTHER: a folder on a disk with free space)";

// --summary-json. {}: path, reason
inline constexpr char kCannotWriteJson[] =
    "--summary-json: cannot write {}: {}; choose another file";
inline constexpr char kIsFolder[] = "it is a folder";
inline constexpr char kWriteFailed[] = "gpuprof: cannot write the summary to {}: {}\n";
inline constexpr char kNoReader[] = "no process reads the pipe";

}  // namespace gpuprof::messages::summary
