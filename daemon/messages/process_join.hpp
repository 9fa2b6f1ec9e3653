// SPDX-License-Identifier: Apache-2.0
//
// Why a running process does not become part of a session (docs/messages.md has the rules of their
// wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::process_join {

// {}: process id, one of the reasons
inline constexpr char kCannotRecord[] = "process {} cannot be recorded: {}";

// Reasons
inline constexpr char kNoReply[] =
    "the gpuprof library in it did not respond within 3 s: its worker thread cannot run, for "
    "example on a busy machine, or while Python 3.12 or later forks continuously; try again";
inline constexpr char kNotAccepting[] = "its control socket does not accept connections {}";
inline constexpr char kOtherListener[] = "another process listens on its control socket";
inline constexpr char kOtherVersion[] = "it has the gpuprof library of another version";
inline constexpr char kSocketClosed[] = "its agent closed the control socket";

}  // namespace gpuprof::messages::process_join
