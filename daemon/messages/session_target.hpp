// SPDX-License-Identifier: Apache-2.0
//
// What is missing of one process of a session, as the daemon finds it (docs/messages.md has the
// rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::session_target {

// GPU events. {}: process id; of kWindowLacksGpuEvents before it: "window 2", "the last window"
inline constexpr char kFinalFlushMissed[] =
    "the last GPU events of process {} are missing: CUPTI's final flush did not finish within 2 s "
    "of its exit (CUPTI hangs, or gpuprof's threads were not scheduled)";
inline constexpr char kWindowLacksGpuEvents[] =
    "{} of process {} may lack GPU events: CUPTI did not deliver them before the file was written "
    "(CUPTI hangs, the process forked or is stopped, or gpuprof's threads were not scheduled)";
inline constexpr char kCuptiEnabledLate[] =
    "CUPTI records of process {} are missing for {}: CUPTI was enabled late (it hangs, or "
    "gpuprof's threads were not scheduled)";
inline constexpr char kProfilerCallsMissed[] =
    "{} by process {} to its own CUPTI profiler could not be tracked (CUPTI hangs, or gpuprof's "
    "threads were not scheduled): GPU events may be missing here or in its own trace";

// Sources of CUPTI that deliver nothing. {}: what, process id, a duration, counts, what is lost
inline constexpr char kSourceSilent[] = "CUPTI delivers no {} of process {} ({}): {}";
inline constexpr char kSourceWasSilent[] =
    "CUPTI delivered no {} of process {} for {} ({} in that time): {}";
inline constexpr char kApiCallRecords[] = "records of CUDA API calls";
inline constexpr char kKernelRecords[] = "records of kernels";
inline constexpr char kLaunchCallbacks[] = "callbacks for launches";
inline constexpr char kCallsNotLinked[] =
    "GPU work of that time is not linked to the calls that launched it";
inline constexpr char kGpuWorkMissing[] = "GPU work of that time is missing";
inline constexpr char kLaunchesWithoutStacks[] = "launches of that time have no stacks";
inline constexpr char kRecordsForLaunches[] = "{} for {}";
inline constexpr char kLaunchesWithoutOne[] = "{} without one";

// The beginning and the end of a process. {}: process id, a duration, a signal
inline constexpr char kStartedLate[] =
    "the first {} of process {} are missing: the gpuprof library in it had not begun to record";
inline constexpr char kNotRecorded[] =
    "process {} was not recorded: the gpuprof library in it did not begin to record in the {} "
    "before its end";
inline constexpr char kReplacedByExec[] = "process {} was replaced by another program (exec)";
inline constexpr char kKilled[] = "process {} was killed by {}";
inline constexpr char kEndedAbruptly[] =
    "process {} ended abruptly (killed, crashed, or by a direct exit system call)";
// {}: one of these three
inline constexpr char kKeptUntilEnd[] = "{}; what it recorded until then is kept";
inline constexpr char kLastGpuEventsLost[] =
    "{}: GPU events of its last moments (up to {} ms since CUPTI last delivered) are missing, at "
    "least those of {}";

// Texts and marks that did not reach the daemon. {}: number and what they are, process id
inline constexpr char kWaitsInterrupted[] =
    "{} of process {} returned early (EINTR) because of the sampling signal, not counting the "
    "first one per thread: gpuprof's worker thread was not scheduled in time to prevent it";
inline constexpr char kMessagesUnread[] =
    "some messages of process {} were not read: names of threads and functions, or notices of "
    "missing data, may be missing";
inline constexpr char kMessagesUnsent[] =
    "{} of process {} did not reach the daemon, which was too busy, before the process ended: "
    "names of threads and functions, or notices of missing data, may be missing";
inline constexpr char kTextsDropped[] =
    "{} of process {} could not be kept: it sent more than one trace keeps";
inline constexpr char kMarksLost[] =
    "{} of process {} could not be stored because the daemon was not scheduled for too long: these "
    "steps are missing or merged with others";

// --max-overhead. {}: one of the reductions, a time, process id, kOverLimit
inline constexpr char kReduced[] = "{} (from {} after the start of process {} on): {}";
inline constexpr char kOverLimit[] =
    "{} of the time of thread {} was spent in gpuprof's own code, more than --max-overhead {}";

// Reductions
inline constexpr char kNoStacks[] =
    "stacks of operators and launches, modules, and native frames beside Python's are no longer "
    "recorded";
inline constexpr char kFewerSamples[] =
    "running threads are sampled {} times a second instead of {}";
inline constexpr char kNoApiCalls[] =
    "CUDA API calls, operator inputs and PyTorch's allocations are no longer recorded";
inline constexpr char kNoOperators[] = "operators and NVTX ranges are no longer recorded";
inline constexpr char kNoSamples[] = "threads are no longer sampled";
inline constexpr char kNoSteps[] = "steps are no longer counted";
inline constexpr char kNoReductionLeft[] = "no further reduction is possible";

}  // namespace gpuprof::messages::session_target
