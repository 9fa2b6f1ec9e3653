// SPDX-License-Identifier: Apache-2.0
//
// Codes of notices, by which a later notice replaces an earlier one, and one message that several
// programs share.
//
// Context:  any
// Promises: no CUPTI code and no errno uses these bits
// Not here: the other messages (inject/messages)
#pragma once

#include <cstdint>

namespace gpuprof::base {

/// The notice is valid until one of the same feature and subject with kNoticeFinal arrives, which
/// replaces it.
inline constexpr std::uint32_t kNoticeProvisional = 1u << 31;
inline constexpr std::uint32_t kNoticeFinal = 1u << 30;

/// Code of the notice that the process connected but never began to record.
inline constexpr std::uint32_t kNoticeNothingRecorded = 1u << 29;

/// Code of the notice that after too many records of graph nodes these, or all GPU work, are not
/// recorded until the window ends.
inline constexpr std::uint32_t kNoticeGraphNodesStopped = 1u << 28;

/// Subjects: the low bits of such a code.
inline constexpr std::uint32_t kNoticeCuptiYielded = 1;
/// There are no launch callbacks, because the program holds the subscriber slot.
inline constexpr std::uint32_t kNoticeNoSubscriber = 16;
/// There was no room for step marks.
inline constexpr std::uint32_t kNoticeLostStepMarks = 17;
/// There was no room for names, or notices, of the process in its spool.
inline constexpr std::uint32_t kNoticeLostNames = 18;
inline constexpr std::uint32_t kNoticeLostNotices = 19;
/// The first of several, one for each of CUPTI's sources (ingest::CuptiSource).
inline constexpr std::uint32_t kNoticeSourceSilent = 2;

/// The beginning of a notice that `gpuprof doctor` recognises: it expects this notice from its own
/// trial.
inline constexpr char kWorkBeforeAttach[] =
    "GPU work launched before gpuprof attached is not in the trace";

/// Whether a notice with the code `later` takes the place of one with the code `earlier`.
constexpr bool supersedes(std::uint32_t later, std::uint32_t earlier) {
  return (later & kNoticeFinal) != 0 && earlier == ((later & ~kNoticeFinal) | kNoticeProvisional);
}

}  // namespace gpuprof::base
