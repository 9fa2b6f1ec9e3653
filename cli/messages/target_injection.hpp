// SPDX-License-Identifier: Apache-2.0
//
// Messages about injecting the library into a running process.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::target_injection {

// {}: process id; seconds, status
inline constexpr char kNoControlSocket[] =
    "the gpuprof library in process {} does not respond: its worker thread cannot run (for example "
    "while Python 3.12 or later forks continuously), or it cannot create a socket in /run/user, "
    "/tmp, /dev/shm or the abstract namespace. It detaches by itself in {} s";
inline constexpr char kOtherVersion[] =
    "process {} has the gpuprof library of another version; attach with that version or restart "
    "the program";
inline constexpr char kUnknownStatus[] =
    "process {} has the gpuprof library of another version (status {}); attach with that version "
    "or restart the program";
inline constexpr char kNoThread[] =
    "the gpuprof library in process {} cannot start its thread: a limit on threads or memory is "
    "reached (`ulimit -u`, the cgroup's pids.max, `ulimit -v`), or its children get a pid "
    "namespace of their own (`unshare --pid`); raise the limit and attach again";
inline constexpr char kNoClock[] =
    "process {} may not read the time stamp counter, which the C library's clocks need (prctl "
    "PR_SET_TSC); attach once it allows that again";
inline constexpr char kEnded[] =
    "process {} ended during the attach, before anything was recorded; start short programs with "
    "`gpuprof run`";

}  // namespace gpuprof::messages::target_injection
