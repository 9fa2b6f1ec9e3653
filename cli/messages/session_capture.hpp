// SPDX-License-Identifier: Apache-2.0
//
// Messages of recordings of running processes (`attach`, `capture`).
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::session_capture {

inline constexpr char kNoNumberOfSteps[] =
    "the schedule counts steps but not how many to record; set their number with --active N";
inline constexpr char kNothing[] =
    "no trace file was written: the recording or the processes ended too early, or the processes "
    "were idle; see the notes (-q hides them)";
inline constexpr char kInterrupted[] =
    "interrupted (Ctrl-C, TERM or HUP) before anything was recorded. The program continues";

// {}: process id
inline constexpr char kNotDetached[] =
    "process {} has not detached yet, but will as soon as it can; check with `gpuprof status`";
inline constexpr char kNotDetachedStopped[] =
    "process {0} has not detached yet because it is stopped; resume it: kill -CONT {0}";

// Progress
inline constexpr char kDetaching[] = "detaching";
inline constexpr char kDetached[] = "detached";

inline constexpr char kCannotWriteStdout[] = "cannot write to stdout";

}  // namespace gpuprof::messages::session_capture
