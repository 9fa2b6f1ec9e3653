// SPDX-License-Identifier: Apache-2.0
//
// Descriptions of the curves of the format tfevents, which TensorBoard shows with them
// (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::export_scalars {

inline constexpr char kGpuBusy[] =
    "Share of the step in which a GPU ran kernels, copies or memory sets; the mean of all GPUs.";
inline constexpr char kKernels[] = "Kernels that started in the step.";
inline constexpr char kKernelTime[] = "Time of the kernels in the step, summed over all streams.";
inline constexpr char kCopyTime[] =
    "Time of the memory copies in the step, summed over all streams.";
inline constexpr char kCopyBytes[] = "Bytes of the memory copies that started in the step.";
inline constexpr char kAllocatedPeak[] =
    "Most memory that PyTorch's allocator had allocated to tensors in the step.";
inline constexpr char kReservedPeak[] =
    "Most memory that PyTorch's allocator had reserved in the step, allocated to tensors or not.";
inline constexpr char kStepTime[] = "Time from the start of the step to its end.";
inline constexpr char kLoaderTime[] =
    "Time for which the thread of the step waited for the next batch of a DataLoader.";
inline constexpr char kLoaderShare[] =
    "Share of the step for which its thread waited for the next batch of a DataLoader.";
inline constexpr char kWaitTime[] =
    "Time for which the thread of the step waited for a stream, an event or a GPU.";
inline constexpr char kDropped[] =
    "Records lost in the whole window; files of other formats state which ones and why.";

}  // namespace gpuprof::messages::export_scalars
