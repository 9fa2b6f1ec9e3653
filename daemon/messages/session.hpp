// SPDX-License-Identifier: Apache-2.0
//
// Messages of a session as a whole: refusals, its end, what it lacks (docs/messages.md has the
// rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::session {

// Refusals
inline constexpr char kSessionIsEnding[] = "the session is ending";
inline constexpr char kTooManyProcesses[] = "the session has reached its limit of {} processes";
inline constexpr char kUnknownRequest[] = "the daemon does not support this request";

// Folders. {}: path, reason
inline constexpr char kOutputIsRelative[] =
    "the daemon expected an absolute output path, got \"{}\"";
inline constexpr char kCannotCreateOutputFolder[] = "cannot create the output folder {}: {}";
inline constexpr char kCannotCreateFolder[] = "cannot create the folder {}: {}";

// Notes while it runs
inline constexpr char kEndedUnrecorded[] = "process {} ended before gpuprof recorded anything";
inline constexpr char kMaxSizeReached[] =
    "recording stopped when its data reached --max-size ({} bytes); the program continued";
inline constexpr char kManyWindows[] =
    "the recording has {} windows or more, with one file per process each; limit them with "
    "--repeat or use a longer --active";

// Missing data
inline constexpr char kExecRemovedLibrary[] =
    "process {} is no longer recorded: it started another program (exec), which does not contain "
    "the gpuprof library; attach again";
inline constexpr char kProcessesNotRecorded[] = "the daemon could not record {}";
inline constexpr char kNoDescriptorLeft[] =
    "the daemon had no file descriptor left for {} of them; raise the limit of open files (ulimit "
    "-n)";
inline constexpr char kOtherUser[] =
    "a process of user {} was not recorded: gpuprof runs as user {} and its daemon accepts no "
    "other; run gpuprof inside the tool that changes the user (setpriv, gosu, su): setpriv ... "
    "gpuprof run -- PROGRAM";
inline constexpr char kWindowsTooEarly[] =
    "no trace file: every window ended before a process could be recorded, which takes some ms; "
    "use a later (--delay) or longer window (--active, -d)";

// Behind a message that not every file has. {}: number of files with it, of all
inline constexpr char kOfFiles[] = " ({} of {} files)";

// Notes at the end. {}: number and what they are
inline constexpr char kShortProcesses[] =
    "{} only counted: a session keeps {} processes and drops the ended ones with the least CPU "
    "time";
inline constexpr char kInterrupted[] =
    "the recording was interrupted (Ctrl-C, TERM or HUP); the files hold what was recorded until "
    "then, and the program continued";
inline constexpr char kStopped[] = "`gpuprof stop` ended the recording; the program continued";
inline constexpr char kSteps[] = "steps: {} {}";
inline constexpr char kStepsUntilLastWindow[] = "steps: {} {}; counted until the last window ended";

// Parts of a recording, before "of process 12"
inline constexpr char kLastWindow[] = "the last window";

// Without memory: "not enough memory to ..."
inline constexpr char kSplitIntoFiles[] = "split the recording into files";

}  // namespace gpuprof::messages::session
