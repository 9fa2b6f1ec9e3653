// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof doctor --try`, and of gpuprof-try, which it records.
// docs/messages.md has the rules of their wording.
//
// Context:  cli | gpuprof-try
#pragma once

namespace gpuprof::messages::doctor_trial {

// What failed. {}: reason, path or folder; seconds, stderr of the command
inline constexpr char kNothingRecorded[] = "nothing was recorded: {}";
inline constexpr char kNoProgram[] = "cannot find {}; reinstall gpuprof";
inline constexpr char kNoFolder[] = "cannot create a folder in {}; set TMPDIR to a writable folder";
inline constexpr char kTimeout[] = "the recording did not end within {} s";
inline constexpr char kTimeoutSaid[] = "the recording did not end within {} s: {}";
inline constexpr char kNoSummary[] = "gpuprof wrote no summary";
inline constexpr char kNoResults[] = "gpuprof-try printed no results";
inline constexpr char kDidNotStart[] = "gpuprof-try did not start working";

// What was recorded. {}: counts
inline constexpr char kSamples[] = "{} in 0.2 s";
inline constexpr char kWork[] = "{} of {} kernels, {} of {} memory copies, {} of {} memory sets";
inline constexpr char kCalls[] = "{} CUDA API calls for {} pieces of GPU work";
inline constexpr char kAttached[] =
    "{} samples, {} kernels and {} CUDA API calls in {} of a running program";
inline constexpr char kAttachedIgnoring[] =
    "{} samples, {} kernels and {} CUDA API calls in {} of a running program (needs "
    "--ignore-seccomp)";
inline constexpr char kTraining[] =
    "{} of {} steps, {} operators and {} kernels of a training run on the {}";
inline constexpr char kOnSimulatedGpu[] = "{} (on a simulated GPU)";

// What there is to record. {}: one of the reasons below
inline constexpr char kNoGpuUsed[] = "no GPU is used: {}";
inline constexpr char kGpuUnusable[] = "the GPU cannot be used: {}";
inline constexpr char kNoTorch[] = "python3 has no PyTorch";

// Why gpuprof-try uses no GPU
inline constexpr char kNoLibcuda[] = "libcuda.so.1 cannot be loaded";
inline constexpr char kNoFunction[] = "the driver lacks a function";
inline constexpr char kNoDevice[] = "the driver finds no device";
inline constexpr char kNotInitialised[] = "the driver cannot be initialised (cuInit)";
inline constexpr char kNoContext[] = "the first device refuses a context or memory";
inline constexpr char kNoKernel[] = "the driver cannot compile a kernel";
inline constexpr char kCallFailed[] = "a CUDA call failed";
inline constexpr char kUsage[] = "usage: gpuprof-try MILLISECONDS | gpuprof-try until-eof\n";

}  // namespace gpuprof::messages::doctor_trial
