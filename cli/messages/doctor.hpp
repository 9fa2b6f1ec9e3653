// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof doctor`: files, limits of the kernel, interpreters, output.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::doctor {

// Refusals
inline constexpr char kTakesNoArgument[] =
    "doctor takes no arguments, got {}; name a process with --pid";
inline constexpr char kNoSuchProcess[] = "--pid {}: no such process; list running ones with `ps`";

// The last line, and what is written to stdout
inline constexpr char kCanRecord[] = "gpuprof can record on this machine";
inline constexpr char kCannotRecord[] =
    "gpuprof cannot record on this machine; see the lines marked `blocking`";
inline constexpr char kTrialIncomplete[] =
    "parts of the trial are missing; see the lines marked `missing`";
inline constexpr char kFindings[] = "the findings";

// gpuprof's own files. {}: path, expected version, reported version; then paths
inline constexpr char kDaemonVersion[] = "{} has the wrong version: expected {}, got {}";
inline constexpr char kFolderClosed[] =
    "other users cannot open {}: programs that change their user print loader errors; install "
    "gpuprof in a folder that all users can read, such as /opt/gpuprof";
inline constexpr char kNo32BitStub[] =
    "the empty 32-bit library is not installed: under gpuprof, 32-bit programs print a loader "
    "error";

// The worker thread
inline constexpr char kWorkerThread[] =
    "gpuprof adds a thread to the program. unshare, setns and seccomp still work; `keyctl "
    "new_session` in a child and checkpoints (CRIU, DMTCP) fail (docs/command-line.md)";
inline constexpr char kWorkerThreadSelinux[] =
    "gpuprof adds a thread to the program. unshare, setns and seccomp still work; `keyctl "
    "new_session` in a child, changing the SELinux context and checkpoints (CRIU, DMTCP) fail "
    "(docs/command-line.md)";

// glibc. {}: version here, version needed
inline constexpr char kGlibcGood[] = "version {}; the gpuprof library needs {}";
inline constexpr char kGlibcAny[] = "version {}; the gpuprof library needs no particular version";
inline constexpr char kGlibcTooOld[] =
    "version {} is too old: the gpuprof library needs {} and cannot be loaded";

// Shared memory
inline constexpr char kNoSharedMemory[] = "cannot create shared memory: {}";
inline constexpr char kSharedMemory[] = "shared memory can be created and sealed";
inline constexpr char kShmFree[] = "{} free (used by programs, not by gpuprof)";

// Sampling. {}: kPerfParanoid or kNoPerfEvents, error
inline constexpr char kNoPerfEvents[] = "the kernel has no perf events";
inline constexpr char kPerfParanoid[] = "perf_event_paranoid is {}";
inline constexpr char kPerfWorks[] =
    "perf task-clock events work ({}): up to 1000 samples per second";
inline constexpr char kPerfFails[] =
    "perf task-clock events fail ({}): {}. gpuprof uses CPU timers instead";
inline constexpr char kCpuTimers[] =
    "{0:.0f} ticks per second: at most {0:.0f} samples per second, {1:.0f} at the default rate of "
    "{2:.0f}";

// ptrace and seccomp. {}: kNoYama or kYama
inline constexpr char kNoYama[] = "no Yama";
inline constexpr char kYama[] = "Yama ptrace_scope is {}";
inline constexpr char kPtraceHeld[] = "{}, CAP_SYS_PTRACE is held. `gpuprof run` needs no ptrace";
inline constexpr char kPtraceNotHeld[] =
    "{}, CAP_SYS_PTRACE is not held. `gpuprof run` needs no ptrace";
inline constexpr char kSeccompFilter[] =
    "a filter is active (a container?): the lines above show the system calls that it refuses";

// Libraries of others. {}: path
inline constexpr char kPreloadKept[] = "{} stays preloaded, after the gpuprof library";
inline constexpr char kPreloadedEverywhere[] = "{} is loaded into every program";
inline constexpr char kForeignInjection[] =
    "names another tool's library ({}). gpuprof leaves it in place, so GPU or NVTX events may be "
    "missing";

// Output. {}: folder, free space
inline constexpr char kOutputFolder[] = "{} is writable, {} free";

// Interpreters. {}: path, version
inline constexpr char kPythonNotRead[] =
    "{} {}: gpuprof reads no Python frames of this version, only of 3.8 to 3.14";
inline constexpr char kPythonFreeThreaded[] =
    "{} {} is free-threaded: gpuprof reads its native frames, not its Python frames";
inline constexpr char kNoPython[] = "there is no Python interpreter in PATH";

}  // namespace gpuprof::messages::doctor
