// SPDX-License-Identifier: Apache-2.0
//
// Fixed texts of `gpuprof` without a command and of `gpuprof help` (docs/messages.md has the rules
// of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::options_help {

inline constexpr char kGettingStarted[] =
    "gpuprof: no command given\n\n"
    "  gpuprof run -- python3 train.py   record a program from its start\n"
    "  gpuprof attach PID                record a running program\n"
    "  gpuprof report FOLDER             summarise a recording\n\n"
    "`gpuprof doctor` checks what this machine can record, `gpuprof help` lists all commands.\n";

inline constexpr char kOverviewBegin[] =
    "usage: gpuprof COMMAND [OPTION...]\n\n"
    "Profiles unmodified GPU programs: CUDA, NVTX, PyTorch's operators and host\n"
    "stacks in one trace.\n\n"
    "  gpuprof run -- python3 train.py\n\nCommands:\n";
inline constexpr char kOverviewEnd[] =
    "  --version Print the version\n\n`gpuprof help COMMAND` explains one command.\n";

}  // namespace gpuprof::messages::options_help
