// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof` itself, before and around its commands (docs/messages.md has the rules of
// their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::command_main {

inline constexpr char kInternalError[] = "internal error: {}";

// {}: limit, what is needed
inline constexpr char kStackLimit[] =
    "the stack limit (ulimit -s) is {} KiB, below the {} KiB that gpuprof needs; raise it, and "
    "lower it for the program only: gpuprof run -- prlimit --stack=BYTES PROGRAM";
inline constexpr char kFileLimit[] =
    "the limit on open files (ulimit -n) is {}, below the {} that gpuprof needs; raise it, and "
    "lower it for the program only: gpuprof run -- prlimit --nofile=FILES PROGRAM";

}  // namespace gpuprof::messages::command_main
