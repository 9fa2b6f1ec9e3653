// SPDX-License-Identifier: Apache-2.0
//
// Messages of what a file lacks and why (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::missing {

// Kinds of event that a window has none of. Up to the colon they are compared (analysis/import),
// and as a whole (cli/doctor).
inline constexpr char kNoGpuActivity[] =
    "no GPU work: the process made CUDA calls, but no GPU activity was recorded in this window";
inline constexpr char kNoGpuRecords[] =
    "no GPU work: the process used a GPU, but CUPTI delivered no records for this window";
inline constexpr char kNoCudaCalls[] =
    "no GPU work: no CUDA call and no GPU activity was recorded in this window";
inline constexpr char kNoOperators[] =
    "no operators: the process ran no PyTorch operator and pushed no NVTX range in this window";
inline constexpr char kNoSteps[] =
    "no steps: this window contains no complete step, so the whole window counts as one";
inline constexpr char kNoSamples[] = "no stack samples: no thread was sampled in this window";
// {}: length of the window, time between two samples
inline constexpr char kWindowTooShortForSamples[] =
    "no stack samples: this window lasts {}, and each thread is sampled every {}";

// Behind a count, in pairs: labels/counted_texts.hpp lists them, so that those of several files are
// added up and those of an imported file are recognised.
// {}: count, reason
inline constexpr char kRecordOne[] = "{} record is missing: {}";
inline constexpr char kRecordMany[] = "{} records are missing: {}";
inline constexpr char kActivityBufferOne[] = "{} activity buffer is missing: {}";
inline constexpr char kActivityBufferMany[] = "{} activity buffers are missing: {}";
inline constexpr char kStackSampleOne[] = "{} stack sample is missing: {}";
inline constexpr char kStackSampleMany[] = "{} stack samples are missing: {}";
inline constexpr char kThreadNotRecordedOne[] = "{} thread was not recorded: {}";
inline constexpr char kThreadNotRecordedMany[] = "{} threads were not recorded: {}";
inline constexpr char kThreadNotSampledOne[] = "{} thread was not sampled: {}";
inline constexpr char kThreadNotSampledMany[] = "{} threads were not sampled: {}";
// {}: count, " (names of threads)" or nothing
inline constexpr char kThreadMaskedOne[] =
    "{} thread was not sampled because it blocks the sampling signal{}";
inline constexpr char kThreadMaskedMany[] =
    "{} threads were not sampled because they block the sampling signal{}";
inline constexpr char kThreadMaskedForAWhileOne[] =
    "{} thread was not sampled while it blocked the sampling signal{}";
inline constexpr char kThreadMaskedForAWhileMany[] =
    "{} threads were not sampled while they blocked the sampling signal{}";
// {}: count
inline constexpr char kStepOne[] =
    "{} step is missing: its start was lost, so it is part of the previous step";
inline constexpr char kStepMany[] =
    "{} steps are missing: their starts were lost, so they are part of the previous steps";
inline constexpr char kNameTruncatedOne[] =
    "{} name was too long to be recorded in full; it ends in …#HASH to stay unique";
inline constexpr char kNameTruncatedMany[] =
    "{} names were too long to be recorded in full; they end in …#HASH to stay unique";
// {}: count, bytes
inline constexpr char kActivityBufferCutOne[] =
    "{} activity buffer was cut short at a record of unknown kind; its last {} bytes are lost";
inline constexpr char kActivityBufferCutMany[] =
    "{} activity buffers were cut short at records of unknown kind; their last {} bytes are lost";
// {}: count, percent
inline constexpr char kClockImpreciseOne[] =
    "{} CUPTI record was converted with an imprecise clock rate; "
    "its duration may be off by up to {:.2g} %";
inline constexpr char kClockImpreciseMany[] =
    "{} CUPTI records were converted with an imprecise clock rate; "
    "durations may be off by up to {:.2g} %";
// {}: count, the most that such a file holds
inline constexpr char kNotInXplaneOne[] =
    "{} event is not in the XPlane file, which holds at most {}; record shorter windows";
inline constexpr char kNotInXplaneMany[] =
    "{} events are not in the XPlane file, which holds at most {}; record shorter windows";
// {}: count
inline constexpr char kNotInSpeedscopeOne[] =
    "{} event is not in the speedscope file, which would otherwise be too large for a browser";
inline constexpr char kNotInSpeedscopeMany[] =
    "{} events are not in the speedscope file, which would otherwise be too large for a browser";

// Up to the first placeholder this is compared (analysis/import). {}: count, duration
inline constexpr char kClockAmbiguous[] =
    "CUPTI's clock changed during the recording; the times of {} records may be off by up to {}";

// The end of a process's spool
inline constexpr char kSpoolIncomplete[] =
    "the spool ends in an incomplete block: later events were lost with the daemon";
inline constexpr char kSpoolTruncated[] =
    "the last records are missing: the disk was full, a file size limit applied or the daemon died";

// Among the others where a file has no field for it
inline constexpr char kGpuIsSimulated[] =
    "the GPU is simulated; its times come from a model and are not measured";

}  // namespace gpuprof::messages::missing
