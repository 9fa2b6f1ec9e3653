// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof status`, `stop`, `serve` and `env` (docs/messages.md has the rules of their
// wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::command_processes {

// Refusals
inline constexpr char kNoneIsRecorded[] =
    "none of your processes is being recorded; `gpuprof status` lists them";
inline constexpr char kServeNeedsProcess[] =
    "serve needs a process; give a PID, a NAME, or --all for all your processes";
// {}: word, word
inline constexpr char kEnvTakesNoArguments[] =
    "env takes no arguments, got {}; to start a program, use `gpuprof run --armed {}`";
// {}: path
inline constexpr char kPathNotForPreload[] =
    "LD_PRELOAD cannot hold {}: the path contains a space, ':' or '$'; install gpuprof elsewhere: "
    "cmake --install build/release --prefix /opt/gpuprof";

// On stderr. {}: address
inline constexpr char kServing[] = "serving the Capture profile button at {}; press Ctrl-C to end";

// Lines of `gpuprof status`. {}: process id, what is left out
inline constexpr char kNoProcess[] = "none of your processes has the gpuprof library";
inline constexpr char kOverheadLimit[] =
    "process {} does not record, to stay below --max-overhead: {}";

}  // namespace gpuprof::messages::command_processes
