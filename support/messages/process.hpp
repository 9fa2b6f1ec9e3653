// SPDX-License-Identifier: Apache-2.0
//
// Messages about programs that are started, that cannot be recorded, and about failed writes
// (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::process {

// Why a program cannot be run. {}: path or word in quotes, reason
inline constexpr char kCannotRun[] = "cannot run {}: {}";
inline constexpr char kRunsFolder[] = "cannot run {}: it is a folder";
inline constexpr char kRunsEmptyName[] = "cannot run '': the program name is empty";
inline constexpr char kNotInPath[] = "cannot run {}: not found in PATH";
inline constexpr char kNoSuchProgram[] = "cannot run {}: no such file";
inline constexpr char kNoInterpreter[] = "cannot run {}: its interpreter or loader does not exist";
inline constexpr char kPathThroughFile[] = "cannot run {}: a part of its path is not a folder";
inline constexpr char kNotExecutable[] =
    "cannot run {}: permission denied (not executable, or on a file system mounted noexec)";

// System calls of a start. {}: reason
inline constexpr char kCannotCreatePipe[] = "cannot create a pipe: {}";
inline constexpr char kCannotStartProcess[] = "cannot start a process: {}";
inline constexpr char kCannotOpenNull[] = "cannot open /dev/null: {}";

// Why a library cannot be preloaded into a program: reasons behind a colon. {}: detail
inline constexpr char kStaticallyLinked[] =
    "it is statically linked, so no library can be loaded into it";
inline constexpr char k32Bit[] = "it is a 32-bit program";
inline constexpr char kOtherArchitecture[] = "it is built for another processor architecture";
inline constexpr char kSanitizer[] = "it is built with a sanitizer ({}) that must be loaded first";
inline constexpr char kSecureExecution[] = "the loader ignores LD_PRELOAD for it ({})";
inline constexpr char kOtherLibc[] = "its loader {} is not that of glibc";
inline constexpr char kPreloadRemoved[] =
    "LD_PRELOAD was removed from its environment (for example by env -i, sudo or a launcher)";

// After an exec. {}: recorded program in quotes, program now in quotes, reason
inline constexpr char kContinuedUnrecorded[] = "{} continued as {}, which is not recorded: {}";

// {}: what there is no memory for, in the infinitive
inline constexpr char kOutOfMemory[] =
    "not enough memory to {}; free some, or raise the limit (ulimit -d, ulimit -v)";

// What to do about a failed write, behind the reason that the system gives
inline constexpr char kFreeSpace[] = "; free some disk space";
inline constexpr char kFreeSpaceOrQuota[] = "; free some disk space or raise the quota";
inline constexpr char kRaiseFileSizeLimit[] =
    "; raise the limit on file sizes (ulimit -f), or record less at a time with --active or "
    "--span-size";

}  // namespace gpuprof::messages::process
