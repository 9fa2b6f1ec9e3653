// SPDX-License-Identifier: Apache-2.0
//
// Messages of loading the library into a running process (docs/messages.md has the rules of their
// wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::attach {

// The request. {}: process id
inline constexpr char kBadArgument[] =
    "the argument of the gpuprof library is too long or contains a NUL byte";
inline constexpr char kStartedAnotherProgram[] =
    "process {} started another program (exec) during the attach; attach again";

// The search for a thread. {}: process id, then milliseconds or why the last thread was not used
inline constexpr char kNothingExamined[] =
    "no thread of process {} could be examined within {} ms; try again";
inline constexpr char kNoStoppableThread[] =
    "process {} has no thread that can be stopped; try again later";
inline constexpr char kNoSafeThread[] =
    "no thread of process {} can load a library right now (the last one: {}); try again later";
// {}: thread id, process id
inline constexpr char kSyscallUserDispatch[] =
    "thread {} of process {} uses Syscall User Dispatch, as Wine does, which would also redirect "
    "gpuprof's system calls; use `gpuprof run`, which records the program until it enables that";

// Why a thread is not used: what it does, where it is
inline constexpr char kInVfork[] = "waiting for a vfork child to start its program or end";
inline constexpr char kWaitsForDisk[] = "does not stop, probably waiting for a disk";
inline constexpr char kGotNoProcessor[] = "got no processor after the request to stop";
inline constexpr char kThreadEnded[] = "ended";
inline constexpr char kNoRoomForFrame[] = "on a stack without room for a signal frame";
inline constexpr char kInLoader[] = "in the loader";
inline constexpr char kInAllocator[] = "in the memory allocator";
inline constexpr char kInSignalHandler[] = "in a signal handler";
inline constexpr char kInCLibrary[] = "in the C library";
inline constexpr char kInVdso[] = "in the vdso";
inline constexpr char kInLockedFunction[] = "in a function of the C library that holds locks";
inline constexpr char kInLockedCall[] =
    "in a system call that the C library may make while it holds locks";
inline constexpr char kIn32BitCode[] = "in 32-bit code";
inline constexpr char kNoThreadBlock[] = "without the C library's thread-local block";
inline constexpr char kWaitsForLock[] = "waiting for a lock";
inline constexpr char kInRseq[] = "in a restartable sequence";
inline constexpr char kStackUnreadable[] = "on a stack that cannot be unwound";

// The injection. {}: process id, thread id, what gpuprof did
inline constexpr char kEndedMeanwhile[] = "process {} or its thread {} ended while gpuprof {}";
inline constexpr char kReadRegisters[] = "read the thread's registers";
inline constexpr char kWroteRegisters[] = "wrote the thread's registers";
inline constexpr char kWroteStack[] = "wrote to the thread's stack";
inline constexpr char kBlockedSignals[] = "blocked the thread's signals";
inline constexpr char kMadeSystemCall[] = "made a system call in the thread";
inline constexpr char kWroteCode[] = "wrote its code into the process";
inline constexpr char kStartedCode[] = "started its code in the thread";
inline constexpr char kCreatedFile[] = "created a file in the process";
inline constexpr char kWroteLibrary[] = "wrote its library into the process";
inline constexpr char kLoadedLibrary[] = "loaded its library";
inline constexpr char kReadResult[] = "read the result";

// {}: process id, what it did not finish, milliseconds
inline constexpr char kTimedOut[] =
    "process {} did not finish {} within {} ms: another of its threads probably holds a lock. The "
    "process finishes it by itself; try again later";
inline constexpr char kSystemCall[] = "a system call";
inline constexpr char kLoading[] = "loading the gpuprof library";
inline constexpr char kWaiting[] = "the injection";

// {}: process id, reason
inline constexpr char kCannotMapMemory[] =
    "cannot map memory in process {}: {}; raise its memory limit";
inline constexpr char kCannotMapCode[] =
    "cannot map executable memory in process {}: {}. A security policy forbids it; start the "
    "program with `gpuprof run`";
inline constexpr char kLoaderFailed[] =
    "the dynamic loader of process {} could not load the gpuprof library: {}";
inline constexpr char kLoaderGaveNoReason[] = "it gave no reason";
inline constexpr char kCannotCopyLibrary[] =
    "cannot write the gpuprof library into process {}: {}; give the process more memory, or start "
    "the program with `gpuprof run`";

// {}: process id
inline constexpr char kNoPlaceForLibrary[] =
    "process {} has neither a /proc of its pid namespace nor a folder (/tmp, /dev/shm, /var/tmp, "
    "/run) that gpuprof can write to and the process can load libraries from; mount /proc there, "
    "or start the program with `gpuprof run`";

}  // namespace gpuprof::messages::attach
