// SPDX-License-Identifier: Apache-2.0
//
// Which descendants of the program were not recorded, and why (docs/messages.md has the rules of
// their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::process_unrecorded {

// {}: process id, its program, one of the reasons
inline constexpr char kNotRecorded[] = "process {} ({}) was not recorded: {}";
// {}: "3 more processes were"
inline constexpr char kMoreNotRecorded[] = "{} not recorded";

// Reasons
inline constexpr char kNoPreload[] =
    "it was started without gpuprof's LD_PRELOAD, for example with env -i, sudo or ssh";
inline constexpr char kNoWorkerThread[] =
    "gpuprof could not start its worker thread in it: it reached no safe point, had no timer left "
    "(ulimit -i), or restricts its system calls (docs/adr/0029-woken-by-work.md)";
inline constexpr char kUnknownProgram[] = "its program is not known";

}  // namespace gpuprof::messages::process_unrecorded
