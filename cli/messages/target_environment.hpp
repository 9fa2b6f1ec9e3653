// SPDX-License-Identifier: Apache-2.0
//
// Messages about the environment of the program.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::target_environment {

// {}: variable, path
inline constexpr char kForeignCudaInjection[] =
    "{} names another tool's library ({}). gpuprof leaves it in place, so CUDA activity may be "
    "missing";
inline constexpr char kForeignNvtxInjection[] =
    "{} names another tool's library ({}). gpuprof leaves it in place, so NVTX ranges may be "
    "missing";
inline constexpr char kInnerSession[] =
    "this run is inside another gpuprof session: its processes are recorded here, not there";

}  // namespace gpuprof::messages::target_environment
