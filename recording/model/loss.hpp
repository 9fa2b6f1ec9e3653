// SPDX-License-Identifier: Apache-2.0
//
// Why records were lost, and what the summary and the trace's metadata call it.
//
// Context:  daemon
// Promises: values are stored in spools: never reuse one
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuprof::model {

/// Value of Loss::reason.
enum class LossReason : std::uint32_t {
  kUnknown = 0,
  kRingFull = 1,          // the ring of a thread was full
  kNoRing = 2,            // the thread got no ring
  kTooLong = 3,           // longer than a frame
  kCuptiDropped = 4,      // CUPTI's own count
  kCuptiBadTime = 5,      // zero or reversed GPU times
  kCuptiIncomplete = 6,   // not finished when the recording ended
  kCuptiUnknownKind = 7,  // buffers
  kCuptiNoBuffer = 8,     // the buffer pool was empty
  kStackUndefined = 9,    // referred to, never defined
  kNameUndefined = 10,
  kStackTableFull = 11,
  kNameTableFull = 12,
  kRingCorrupt = 13,
  kUnknownRecord = 14,  // a kind this daemon does not know
  kSpoolFull = 15,      // the disk refused
  kSampleNoRoom = 16,   // too little stack left on the thread
  kUnwindFault = 17,
  kBlockedTorn = 18,  // the blocked thread resumed while it was unwound: its sample was discarded
  kPopWithoutPush = 19,
  kLaunchTableFull = 20,  // no longer used; the number stays taken
  kDuplicateCall = 21,    // inner host call with the same correlation id
  kPythonFault = 22,
  kCodeTableFull = 23,
  kRecordMalformed = 24,  // shorter than its kind
  kGpuNoClock = 25,       // there never was a snapshot of the GPU records' clock
  kRangeTooDeep = 26,
  kThreadMasked = 27,       // threads that block the sampling signal
  kThreadNoTrigger = 28,    // threads without a sampling trigger
  kThreadNoRing = 29,       // threads for which no ring was left
  kStepUnnumbered = 30,     // step marks whose kernel name was matched too late to be counted
  kSampleBusy = 31,         // gpuprof's code was busy on the thread
  kTimeImplausible = 32,    // a time at which the process did not run
  kCountDamaged = 33,       // a count nobody can have reached: its word was overwritten
  kNameTruncated = 34,      // names sent cut: they are there, but not whole
  kCuptiUnknownBytes = 35,  // bytes, from a record of unknown kind to the end of its buffer
  kInputsTableFull = 36,
  kInputsUndefined = 37,   // operators whose inputs never came
  kStepLost = 38,          // steps whose begin never came: the one before goes on through them
  kSampleAtFork = 39,      // held back while the process forked
  kGraphNodeSkipped = 40,  // after so many that later times may be wrong
};

/// What people read, and the key in traces and summaries: analysis/import accepts former ones.
constexpr std::string_view loss_name(LossReason reason) {
  constexpr std::array<std::string_view, 41> kNames = {
      "unknown",
      "ring full",
      "no ring left for the thread",
      "record too long",
      "dropped by CUPTI",
      "GPU record with invalid times",
      "GPU record not finished",
      "CUPTI buffer cut short at a record of unknown kind",
      "no CUPTI buffer left",
      "stack never defined",
      "name never defined",
      "stack table full",
      "name table full",
      "ring damaged",
      "record of unknown kind",
      "spool could not be written",
      "too little stack to sample",
      "stack walk faulted",
      "thread resumed while it was being unwound",
      "range end without begin",
      "launch table full",
      "call nested in another call",
      "Python frame walk faulted",
      "code table full",
      "record too short",
      "GPU record without a clock",
      "ranges nested too deep",
      "thread blocks the sampling signal",
      "thread without a sampling trigger",
      "thread without a ring",
      "step mark matched too late",
      "thread busy in gpuprof's code",
      "time outside the process's life",
      "counter damaged",
      "name cut short",
      "byte lost in truncated CUPTI buffers",
      "table of operator inputs full",
      "operator inputs never defined",
      "start of a step lost",
      "the process was forking",
      "graph node not recorded",
  };
  const auto index = static_cast<std::uint32_t>(reason);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

/// Whether a count of this reason counts records, and not threads, names, bytes or steps.
constexpr bool counts_records(LossReason reason) {
  return reason != LossReason::kThreadMasked && reason != LossReason::kThreadNoTrigger &&
         reason != LossReason::kThreadNoRing && reason != LossReason::kNameTruncated &&
         reason != LossReason::kCuptiUnknownBytes && reason != LossReason::kStepLost;
}

}  // namespace gpuprof::model
