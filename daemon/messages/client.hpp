// SPDX-License-Identifier: Apache-2.0
//
// Messages about the connection to the daemon (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::client {

/// Also compared: nothing else is known of a daemon that is simply gone.
inline constexpr char kEndedUnexpectedly[] = "the daemon gpuprofd ended unexpectedly";
inline constexpr char kNoResponse[] = "the daemon gpuprofd did not respond in time";
inline constexpr char kInvalidMessage[] = "the daemon gpuprofd sent an invalid message";
inline constexpr char kOtherVersion[] =
    "gpuprof and gpuprofd have different versions; install both from one build";
inline constexpr char kSummaryTooLong[] = "the summary of the daemon gpuprofd is too long";
// {}: reason
inline constexpr char kCannotReadSummary[] = "cannot read the summary of the daemon gpuprofd: {}";

}  // namespace gpuprof::messages::client
