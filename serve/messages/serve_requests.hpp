// SPDX-License-Identifier: Apache-2.0
//
// Messages in responses to the client.
// docs/messages.md has the rules of their wording.
//
// Context:  serve
#pragma once

namespace gpuprof::messages::serve_requests {

// Requests. {}: time
inline constexpr char kNoDuration[] = "the request has no duration, so there is nothing to record";
inline constexpr char kTooLong[] = "the duration is longer than one hour, the maximum";
inline constexpr char kTooLate[] =
    "the recording would start more than one hour from now; check the clocks of both machines";
inline constexpr char kDeadlineTooShort[] =
    "the client waits only {}, which is too short to record and respond";

// What is recorded already. {}: process id
inline constexpr char kProcessIsBusy[] =
    "process {} is already being recorded (`gpuprof status` shows by whom); try again later";
inline constexpr char kServiceIsBusy[] =
    "another profile is already being captured; try again later";
inline constexpr char kNotCapturing[] = "no profile is being captured for this session";

inline constexpr char kFailed[] = "gpuprof-serve failed: {}";
inline constexpr char kOnlyProfile[] = "gpuprof supports Profile and Terminate only";

// Log. {}: processes, time; files or error
inline constexpr char kRecording[] = "recording {} for {}";
inline constexpr char kResponse[] = "response: {}";

}  // namespace gpuprof::messages::serve_requests
