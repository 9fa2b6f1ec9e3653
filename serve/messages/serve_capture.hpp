// SPDX-License-Identifier: Apache-2.0
//
// Messages of one recording by `gpuprof capture`.
// docs/messages.md has the rules of their wording.
//
// Context:  serve
#pragma once

namespace gpuprof::messages::serve_capture {

// {}: reason; wait status, size
inline constexpr char kNoFolder[] = "cannot create a folder in {} for the recording: {}";
inline constexpr char kEndedSilently[] = "`gpuprof capture` ended without a message (status {})";
inline constexpr char kTooLarge[] =
    "the recording has {}, but a response holds at most 2 GiB; record less time or fewer "
    "processes, or use `gpuprof capture`";
inline constexpr char kCannotRead[] = "cannot read the recorded files: {}";
inline constexpr char kTooSlow[] =
    "`gpuprof capture` took too long to write the trace, and gpuprof-serve ended it";

// Log
inline constexpr char kEndingEarly[] = "ending the recording early";
inline constexpr char kDoesNotEnd[] = "the recording does not end";

}  // namespace gpuprof::messages::serve_capture
