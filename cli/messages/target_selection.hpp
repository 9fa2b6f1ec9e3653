// SPDX-License-Identifier: Apache-2.0
//
// Messages about the processes that a command line names.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::target_selection {

// {}: command
inline constexpr char kNeedsProcess[] = "{0} needs a process: gpuprof {0} PID";
inline constexpr char kNeedsSelector[] =
    "{0} needs a process: gpuprof {0} PID, NAME or --all; list processes with `gpuprof status`";

// {}: word or process id
inline constexpr char kNotAnId[] =
    "{} is not a process id; {} takes ids of running processes, which `ps` lists";
inline constexpr char kNoProcess[] = "process {} does not exist; list running ones with `ps`";
inline constexpr char kOtherUser[] =
    "process {} belongs to another user; run gpuprof as that user or as root";
inline constexpr char kNoResponse[] =
    "the gpuprof library in process {0} does not respond: it is detached, was never activated "
    "(the first CUDA or NVTX call does that), or its worker thread cannot run (for example while "
    "Python 3.12 or later forks continuously); activate it with `gpuprof attach {0}`";
inline constexpr char kNoLibrary[] =
    "the gpuprof library is not loaded in process {0}; inject it with `gpuprof attach {0}`";
inline constexpr char kBeingRecorded[] =
    "process {0} is already being recorded by the daemon (process {1}); wait for that recording to "
    "end or end it with `gpuprof stop {0}`";
inline constexpr char kNoneOfUser[] =
    "none of your processes has the gpuprof library; use `gpuprof run --armed` or `gpuprof attach "
    "PID`";

// {}: name; a message about a process, number of processes
inline constexpr char kUnknownName[] =
    "no process is named {}; list processes with `gpuprof status`";
inline constexpr char kUnknownNameUnless[] =
    "no process is named {}, unless it is one that does not respond: {}";
inline constexpr char kOneOfMany[] = "{} (1 of {} processes; list them with `gpuprof status`)";
inline constexpr char kMaybeNamed[] = "skipped a process that may have the name: {}";

}  // namespace gpuprof::messages::target_selection
