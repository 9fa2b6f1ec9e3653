// SPDX-License-Identifier: Apache-2.0
//
// Messages about the program that `gpuprof run` starts.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::target_program {

// Where there is no memory left to format anything
inline constexpr char kOutOfMemory[] =
    "gpuprof: failed: not enough memory for the summary; raise the limit (`ulimit -d`, `ulimit "
    "-v`). Recover a .gpuprof-spool-* folder with `gpuprof export FOLDER`\n";

// Why nothing was recorded. {}: program; exit status or signal, time since its start
inline constexpr char kNotPreloadable[] =
    "nothing was recorded: {} cannot load the gpuprof library, and no program that it started did";
inline constexpr char kExited[] =
    "nothing was recorded: {} exited with status {} after {}, before the gpuprof library had "
    "started";
inline constexpr char kExited127[] =
    "nothing was recorded: {} exited with status 127 (a library or command is missing) after {}, "
    "before the gpuprof library had started";
inline constexpr char kKilled[] =
    "nothing was recorded: {} was killed by {} after {}, before the gpuprof library had started";
inline constexpr char kTooShort[] =
    "nothing was recorded: {} ended after {}, which is too short for the gpuprof library to start "
    "on a busy machine, or {}";
inline constexpr char kRanWithout[] =
    "nothing was recorded: {} ran for {} without the gpuprof library: {}";

// {}: kExited or kKilled, kNoPreload
inline constexpr char kTooBusy[] =
    "{}: the machine was too busy, the program first changed its root, its network or its limit of "
    "open files (so the library could not reach the daemon), or {}";
inline constexpr char kNoPreload[] =
    "LD_PRELOAD did not reach it (cleared by env -i or sudo, by a security module or by file "
    "capabilities); check with `gpuprof doctor`";

}  // namespace gpuprof::messages::target_program
