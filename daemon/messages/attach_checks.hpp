// SPDX-License-Identifier: Apache-2.0
//
// Why a process is not attached to (docs/messages.md has the rules of the wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::attach_checks {

inline constexpr char kIsGpuprof[] =
    "gpuprof cannot attach to itself; give the process id of your program";

// By status. {}: process id, then its name
inline constexpr char kNoProcess[] =
    "process {} does not exist: it has ended or is in another pid namespace; list running ones "
    "with `ps`";
// {}: thread id, process id twice
inline constexpr char kIsThread[] = "{} is a thread of process {}; attach to process {} instead";
inline constexpr char kMainThreadEnded[] =
    "the main thread of process {} ({}) has ended (pthread_exit), so the kernel shows neither its "
    "memory nor its files; start the program with `gpuprof run`";
inline constexpr char kIsEnding[] =
    "process {} ({}) has ended and waits for its parent to collect it: nothing is left to profile";
inline constexpr char kIsKernelThread[] =
    "{} ({}) is a kernel thread, which runs no program; choose another process";
// {}: process id, name, the tracer's process id and name
inline constexpr char kIsTraced[] =
    "process {} ({}) is traced by process {} ({}), and a process can have only one tracer; end "
    "that one first";
// {}: process id, name, process id
inline constexpr char kIsStopped[] = "process {} ({}) is stopped; resume it first: kill -CONT {}";
inline constexpr char kStrictSeccomp[] =
    "cannot attach to process {} ({}): it is in seccomp's strict mode, in which loading a library "
    "would end it";
inline constexpr char kSeccompFilter[] =
    "process {} ({}) has a seccomp filter, which may end it when it loads a library; add "
    "--ignore-seccomp if that is the default filter of Docker or Kubernetes, which allows it";
inline constexpr char kShadowStack[] =
    "process {} ({}) uses shadow stacks, with which attaching is not tested; start it with "
    "`gpuprof run`";

// By image. {}: process id
inline constexpr char kIs32Bit[] =
    "cannot attach to process {}: it is a 32-bit program, and the gpuprof library is 64-bit only";
inline constexpr char kUsesMusl[] =
    "cannot attach to process {}: it uses the C library musl, and the gpuprof library needs glibc";
inline constexpr char kHasNoGlibc[] =
    "cannot attach to process {}: it has not loaded glibc, because it is statically linked or "
    "brings its own C library";
inline constexpr char kSharesMemory[] =
    "process {} still shares the memory of its parent (vfork); attach once it has started its "
    "program";
inline constexpr char kIsStarting[] = "process {} is still being started by its loader; try again";
inline constexpr char kLoadsLibraries[] = "process {} is still loading libraries; try again";
// {}: process id, path
inline constexpr char kNoDlopen[] =
    "cannot find dlopen in the C library of process {} ({}): gpuprof needs glibc 2.34 or later; "
    "start the program with `gpuprof run`";
inline constexpr char kNoReturnCode[] =
    "cannot find the instructions for a safe return in the C library of process {} ({}); start the "
    "program with `gpuprof run`";
inline constexpr char kOtherBuild[] =
    "process {} has loaded another build of the gpuprof library ({}), which cannot be replaced "
    "while it runs; use the gpuprof of that build, or restart the program";

// The kernel forbids it. {}: process id
inline constexpr char kHasEnded[] = "process {} has ended";
inline constexpr char kOtherUser[] =
    "process {} belongs to another user or changed its user; attach as root";
inline constexpr char kPtraceDisabled[] =
    "attaching is disabled on this machine until the next boot (kernel.yama.ptrace_scope is 3); "
    "start the program of process {} with `gpuprof run`";
inline constexpr char kNotDumpable[] =
    "process {} made itself unreadable (not dumpable), as programs with secrets or capabilities "
    "do; attach as root";
inline constexpr char kPtraceRootOnly[] =
    "only root can attach on this machine (kernel.yama.ptrace_scope is 2); attach to process {} as "
    "root";
inline constexpr char kPtraceChildrenOnly[] =
    "users can attach only to their own child processes on this machine (kernel.yama.ptrace_scope "
    "is 1); attach to process {} as root, start it with `gpuprof run`, or set "
    "kernel.yama.ptrace_scope=0";
// {}: process id, reason
inline constexpr char kCannotTrace[] =
    "process {} cannot be traced from here ({}); in a container, give it the capability "
    "SYS_PTRACE, otherwise attach as root";
inline constexpr char kCannotTraceAsRoot[] =
    "process {} cannot be traced from here, even by root ({}); in a container, give it the "
    "capability SYS_PTRACE, otherwise start the program with `gpuprof run`";

// The library's file. {}: path, then the reason or the missing symbol
inline constexpr char kCannotReadLibrary[] =
    "cannot read the gpuprof library {}: {}; reinstall gpuprof";
inline constexpr char kOtherLibrary[] =
    "{} is not the gpuprof library of this version for this machine (it has no {}); reinstall "
    "gpuprof";

}  // namespace gpuprof::messages::attach_checks
