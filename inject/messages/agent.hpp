// SPDX-License-Identifier: Apache-2.0
//
// Messages of the agent: responses at the control socket, and why a process is not recorded
// (docs/messages.md has the rules of their wording). printf formats.
//
// Context:  any
#pragma once

namespace gpuprof::messages::agent {

// Refused requests, of "process 12: ..." and "process 12 cannot be recorded: ...".
// %llu: process id of the daemon, %d: of the process
inline constexpr char kAlreadyRecorded[] =
    "it is already being recorded by the daemon (process %llu); wait for that recording to end or "
    "end it with `gpuprof stop %d`";
inline constexpr char kNotRecorded[] = "it is not being recorded";
inline constexpr char kRequestTooLong[] = "the request is too long";
inline constexpr char kRequestWithoutDaemon[] = "the request names no daemon";
inline constexpr char kUnknownRequest[] = "its gpuprof library does not support this request";

// Notices. %.0f: milliseconds
inline constexpr char kCudaStartedEarly[] =
    "CUDA calls and GPU work of %.0f ms are missing: the program continued before recording began";
inline constexpr char kSystemCallsRestricted[] =
    "nothing was recorded after the program restricted its system calls (seccomp), which gpuprof's "
    "own system calls would violate";
// %llu: MiB that recording takes, MiB that are left
inline constexpr char kLittleAddressSpace[] =
    "nothing was recorded: recording would take %llu of the %llu MiB of address space that the "
    "program has left; raise its limit (ulimit -v) or use a smaller --buffer-size";
inline constexpr char kLittleDataMemory[] =
    "nothing was recorded: recording would take %llu of the %llu MiB of data memory that the "
    "program has left; raise its limit (ulimit -d)";
inline constexpr char kSessionMemoryKept[] =
    "at the end of a session a thread was still inside the gpuprof library, perhaps stopped by a "
    "debugger; the session's memory is freed once the thread continues";
// %u: times
inline constexpr char kSessionMemoryKeptOften[] =
    "at the end of %u sessions a thread was still inside the gpuprof library, perhaps stopped by a "
    "debugger; the memory of these sessions is freed once the thread continues";

}  // namespace gpuprof::messages::agent
