// SPDX-License-Identifier: Apache-2.0
//
// Notices about CUPTI: why there are no GPU events, and what is missing of them (docs/messages.md
// has the rules of their wording). printf formats, of at most 511 bytes.
//
// Context:  any
#pragma once

namespace gpuprof::messages::cupti {

// No GPU events. %s: path or reason
inline constexpr char kStubDriver[] =
    "no GPU events: the program uses the CUDA toolkit's stub driver %.160s; remove the folder "
    "named stubs from LD_LIBRARY_PATH";
inline constexpr char kNoUsableCupti[] =
    "no GPU events: no usable CUPTI library (%s); install the CUPTI of the driver's CUDA release, "
    "or a newer driver";
inline constexpr char kNoCupti[] =
    "no GPU events: no CUPTI library (libcupti.so) was found in the program, beside its CUDA "
    "runtime, in a CUDA toolkit or in LD_LIBRARY_PATH; install it (pip: nvidia-cuda-cupti), or add "
    "its folder to LD_LIBRARY_PATH";
inline constexpr char kNoDriver[] =
    "no GPU events: no CUDA driver (libcuda.so.1) is loaded in this process";
// %u: versions; %s: CUPTI's text
inline constexpr char kDriverTooOld[] =
    "no GPU events: CUPTI %u does not work with the driver (CUDA %u.%u): %s. The driver is "
    "probably too old for this CUPTI; install a newer driver or an older CUPTI";
inline constexpr char kNoBufferMemory[] = "no GPU events: no memory for activity buffers";
// %d: CUPTI's error number, %s: its text
inline constexpr char kBuffersRefused[] =
    "no GPU events: CUPTI refused gpuprof's activity buffers (%d, %s)";
// %s: also one of the clauses below, or nothing
inline constexpr char kSubscriptionRefused[] =
    "no GPU events: CUPTI refused the subscription (%d, %s)%s";
inline constexpr char kPrivilegeClause[] =
    ". Tracing needs no privilege since CUDA 10.2: a container or sandbox forbids it";
inline constexpr char kVirtualGpuClause[] = "; allow profiling of this virtual GPU on its host";
inline constexpr char kConfidentialClause[] =
    ". The GPU is in confidential-computing mode; only its devtools mode can be traced";
inline constexpr char kDeviceClause[] = ". Devices of this kind cannot be traced";
inline constexpr char kNoDescription[] = "no description";
// %s: who has it
inline constexpr char kSlotTaken[] =
    "no GPU events: %s holds CUPTI's one subscriber slot in this process; run the program without "
    "that profiler. gpuprof records everything else and tries again every 30 s";
inline constexpr char kSomeProfiler[] = "another profiler (perhaps nsys, ncu or torch.profiler)";
inline constexpr char kSlotFree[] =
    "gpuprof records GPU events from now on: CUPTI's subscriber slot is free";
inline constexpr char kFlushHangs[] =
    "CUPTI's flush does not return: GPU events are recorded only as far as CUPTI delivers them by "
    "itself. The program is not blocked";

// Why a CUPTI library was not used. %s: path, %u: CUDA version of the driver; %s: path, function
inline constexpr char kCuptiTooNew[] = "%s needs a driver newer than CUDA %u.%u";
inline constexpr char kCuptiLacks[] = "%.120s lacks %s";
inline constexpr char kAVersion[] = "a version";

// Kinds of records. %u: CUPTI version
inline constexpr char kNoKernels[] =
    "no kernels in the trace: with CUPTI %u (before CUDA 11.2), enabling them in a running program "
    "can block it for seconds; start the program with `gpuprof run`";
// %s: what, %d: CUPTI's error number, %s: its text
inline constexpr char kKindRefused[] = "no %s in the trace: CUPTI refused them (%d, %s)";
inline constexpr char kKernelsStayOn[] =
    "kernel records stay on between windows, where they cost time and are not recorded: with CUPTI "
    "%u (below CUDA 13.0 Update 1), switching them off can block the program";
// Values of the fact cupti_calls
inline constexpr char kCallsByKind[] = "activity kinds, as callbacks are not called";
inline constexpr char kCallsByCallback[] = "callbacks, at times activity kinds";

// GPU work that is missing or incomplete. %llu: number of records of graph nodes
inline constexpr char kDeviceWorkStopped[] =
    "after %llu records of CUDA graph nodes no kernel, copy or memory set is recorded until the "
    "window ends: CUPTI does not free its device buffers during long graph replay, and later times "
    "would be wrong; use --cuda-graph graph or shorter windows";
inline constexpr char kGraphNodesStopped[] =
    "after %llu records of CUDA graph nodes no further ones are recorded until the window ends, "
    "nor other GPU work without a valid time: CUPTI does not free its device buffers during long "
    "graph replay, and below CUDA 13.0 Update 1 node records cannot be switched off; use "
    "--cuda-graph graph or shorter windows";
inline constexpr char kEarlierGraphs[] =
    "CUDA graphs that were instantiated before gpuprof attached may be incomplete: nodes without "
    "names, copies that look like kernels";
inline constexpr char kNoValidTimes[] =
    "some GPU records have no valid times and are counted, not shown: CUPTI's device buffers were "
    "exhausted, or CUPTI has a fault";
inline constexpr char kUnknownRecords[] =
    "GPU records are lost: CUPTI wrote records that its own iterator does not know. The rest of "
    "their buffers is lost and counted";
inline constexpr char kNoFreeBuffer[] =
    "an unknown number of GPU records is lost: all CUPTI buffers were in use. More threads "
    "launched work between two flushes than there are buffers, or gpuprof's worker thread was not "
    "scheduled";
inline constexpr char kClockChanged[] =
    "another profiler in the program changed CUPTI's clock; gpuprof converts the times";
inline constexpr char kCallbacksReplaced[] =
    "GPU records stopped although the program still launches work: another profiler replaced "
    "gpuprof's CUPTI callbacks. gpuprof tries again in the next window";

// Optional sentences after base::kWorkBeforeAttach
inline constexpr char kEarlierStreams[] =
    ". Streams created before that have no priority: this CUPTI does not report it later";
inline constexpr char kEarlierGraphLaunches[] =
    ". Launches of graphs that were instantiated before that are missing too: CUPTI records only "
    "later graphs as a whole";

// The program's own profiler
inline constexpr char kYielded[] =
    "the program's own CUPTI profiler (torch.profiler or similar) receives the GPU events until "
    "its session ends; gpuprof records everything else%s";
inline constexpr char kKernelsStayedOnClause[] =
    ". Kernel records could not be switched off safely before (CUPTI below 13.0 Update 1)";
inline constexpr char kProfilerEnded[] =
    "gpuprof records GPU events again: the session of the program's own profiler has ended";
// %llu: milliseconds; %s: launches of that time, a sentence about launches in no trace, or nothing
inline constexpr char kProfilerShare[] =
    "the program's own CUPTI profiler received the GPU events of %llu ms%s: they are in its trace, "
    "not in this one%s";
// %llu: milliseconds; %s: launches of that time, or nothing
inline constexpr char kInNeitherTrace[] =
    ". GPU work launched in the %llu ms%s between its end and gpuprof's return is in neither";
// %llu: number
inline constexpr char kOneLaunch[] = " (1 launch or wait)";
inline constexpr char kLaunches[] = " (%llu launches and waits)";
inline constexpr char kSlotKept[] =
    "the program's own profiler (torch.profiler or similar) keeps CUPTI's one subscriber slot "
    "after its session: launches from then on have no stacks. Their calls and GPU work are "
    "recorded";
inline constexpr char kSlotKeptNoSteps[] =
    "the program's own profiler (torch.profiler or similar) keeps CUPTI's one subscriber slot "
    "after its session: launches from then on have no stacks, and steps by kernel are not counted. "
    "Their calls and GPU work are recorded";
inline constexpr char kSlotWasKept[] =
    "the program's own profiler (torch.profiler or similar) kept CUPTI's one subscriber slot for a "
    "time after its session: launches of that time have no stacks";

}  // namespace gpuprof::messages::cupti
