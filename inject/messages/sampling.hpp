// SPDX-License-Identifier: Apache-2.0
//
// Notices about sampling (docs/messages.md has the rules of their wording). printf formats.
//
// Context:  any
#pragma once

namespace gpuprof::messages::sampling {

// Threads that are not sampled
inline constexpr char kNoProc[] =
    "threads are not sampled: the process has no /proc of its own process id namespace; mount one, "
    "for example with `unshare --mount-proc`";
inline constexpr char kTraced[] =
    "running threads are not sampled while a debugger or tracer is attached: it would stop at "
    "every sampling signal";
inline constexpr char kFilteredThreads[] =
    "threads that the program put under a seccomp filter are no longer sampled while they run: the "
    "filter may end them for the system calls of sampling";
inline constexpr char kNoAlternateStack[] =
    "running threads are sampled only if they were created, or created others, under `gpuprof run` "
    "after TensorFlow, JAX or oneDNN was loaded: its code must not be interrupted on a thread's "
    "own stack";
inline constexpr char kNoReadv[] =
    "blocked threads are not sampled: process_vm_readv is not permitted here";
inline constexpr char kGoCode[] =
    "only blocked threads are sampled: the program contains Go code without cgo, whose threads "
    "cannot run gpuprof's signal handler";
inline constexpr char kNoFreeSignal[] =
    "only blocked threads are sampled: the program uses every realtime signal";

// Stacks without callers
inline constexpr char kGoStacks[] =
    "stacks are reduced to the program counter: the program contains Go code without cgo, whose "
    "threads cannot run gpuprof's signal handler";
inline constexpr char kFilteredStacks[] =
    "stacks are reduced to the program counter: the program put threads under a seccomp filter and "
    "may handle faults there";
inline constexpr char kFaultsIgnored[] =
    "stacks are reduced to the program counter: the program ignores SIGSEGV or SIGBUS, so gpuprof "
    "installs no handler for them";
inline constexpr char kFaultsHandled[] =
    "stacks are reduced to the program counter: the program keeps installing its own handler for "
    "SIGSEGV or SIGBUS";

// The sampling trigger. %s: sampler, %u: possible and requested rate
inline constexpr char kLowerRate[] =
    "sampler %s takes at most %u samples per second and running thread here; %u were requested";
inline constexpr char kPerfSamplesLost[] =
    "samples were lost because the kernel sent SIGIO instead, as it does at the user's limit on "
    "pending signals (ulimit -i). Sampling no longer uses perf events";
inline constexpr char kProgramHandlesSigio[] =
    "per-thread CPU timers are used instead of perf events: the program handles SIGIO, which perf "
    "events may send";
inline constexpr char kSignalAwaited[] =
    "gpuprof switched to another sampling signal: the program waits for the previous one";
inline constexpr char kSignalHandled[] =
    "gpuprof switched to another sampling signal: the program installed a handler for the previous "
    "one";
// %s: one of the next two, sampler, reason
inline constexpr char kSamplerUnavailable[] = "%s: sampler %s is not available (%s)";
inline constexpr char kRunningNotSampled[] = "running threads are not sampled";
inline constexpr char kCpuTimersUsed[] = "per-thread CPU timers are used instead of perf events";

// Why a sampler is not available. %s: system error; %lu: version
inline constexpr char kPendingSignals[] =
    "the user's limit on pending signals (ulimit -i) is nearly reached";
inline constexpr char kPerfEventOpen[] = "perf_event_open: %s";
inline constexpr char kTimerCreate[] = "timer_create: %s";
inline constexpr char kOldKernel[] = "before Linux %lu.%lu it interrupts blocking system calls";

}  // namespace gpuprof::messages::sampling
