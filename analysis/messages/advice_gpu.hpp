// SPDX-License-Identifier: Apache-2.0
//
// Advice on what the GPU does and on waits for it: findings, and what to try (docs/messages.md has
// the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::advice_gpu {

// sync-in-loop. {}: operator or call, how often, mean time
inline constexpr char kWaits[] =
    "{} waits for the GPU {} per step, {} each. Until the GPU has finished all earlier work, the "
    "host launches nothing; after that, the GPU waits for the host.";
// {}: device, share
inline constexpr char kBusyAnyway[] =
    " GPU {} is nevertheless busy for {} of a step, so most of this wait is for its work.";
inline constexpr char kTryFixedSize[] =
    "Use torch.where or a mask of fixed size: the size of this result depends on values on the "
    "GPU, so the host has to wait for them.";
inline constexpr char kTryNoSynchronisation[] =
    "Remove the synchronisation from the loop. To measure time, use CUDA events or a profiler.";
inline constexpr char kTryReadLater[] =
    "Keep the value on the GPU (sum loss.detach()) and read it every N steps or after the loop. If "
    "the host needs it in every step, copy it to pinned memory with non_blocking=True and read it "
    "one step later.";

// pageable-copy. {}: bytes, time, "per step" or "in total"
inline constexpr char kPageableCopy[] =
    "The program copies {0} {2} from pageable memory to the GPU. The driver first copies the data "
    "within host memory, and the call waits for that: {1} {2}.";
inline constexpr char kTryPinned[] =
    "Use DataLoader(..., pin_memory=True), or call tensor.pin_memory() once, and copy with "
    ".to(device, non_blocking=True).";

// tiny-kernels. {}: operator, number of kernels, time of one, host time to launch one
inline constexpr char kTinyKernels[] =
    "{} launches {} kernels of {} each in a row. The host needs {} to launch one, and the GPU "
    "waits in between.";
inline constexpr char kTryMerge[] =
    "Merge them: use one operator on a stacked tensor, torch._foreach_..., torch.compile, or a "
    "CUDA graph (torch.cuda.make_graphed_callables).";

// gpu-idle. {}: device, share of a step, idle time, category and its time
inline constexpr char kIdleInSteps[] =
    "GPU {} runs kernels for only {} of a step. It is idle for {} per step, mostly during {}.";
// {}: device, share of a step
inline constexpr char kBusyInSteps[] = "GPU {} runs kernels for {} of a step.";
// {}: share of time, share of time
inline constexpr char kIdleBetweenSteps[] =
    " {} of the time from the first to the last step lies between steps; over all of that time, "
    "the GPU is busy for {}.";
inline constexpr char kTryMoreWork[] =
    "Give the GPU more work per step (a larger batch), and follow the other advice. If there is "
    "none, the host launches too slowly: use torch.compile or CUDA graphs.";
inline constexpr char kTryLessBetweenSteps[] =
    "Look at what the program does between its steps: evaluation, saving, loading, or a part of "
    "each iteration that lies outside the detected step.";

// launch-bound. {}: number of kernels, share of short ones, their length, time of waiting
inline constexpr char kLaunchBound[] =
    "The program launches {} kernels per step, and {} of them are shorter than {}. The GPU "
    "finishes them faster than the host launches them, and waits {} per step for launches. Most "
    "of the short kernels come from here.";
inline constexpr char kTryFewerKernels[] =
    "Launch fewer, larger kernels: use torch.compile(mode=\"reduce-overhead\") or CUDA graphs, "
    "fused or foreach optimizers, or a larger batch.";

// fp32-math. {}: time, "per step" or "in total", name of a kernel
inline constexpr char kFp32[] =
    "Matrix products and convolutions in single precision, without tensor cores, take {} of GPU "
    "time {}. The longest kernel is {}. Of the program's lines that launch them, this one accounts "
    "for the most GPU time.";
inline constexpr char kTf32[] =
    "Matrix products and convolutions in single precision (TF32) take {} of GPU time {}; with "
    "16-bit types, tensor cores are twice as fast. The longest kernel is {}. Of the program's "
    "lines that launch them, this one accounts for the most GPU time.";
inline constexpr char kTryAutocastOrTf32[] =
    "Use torch.autocast(\"cuda\", dtype=torch.bfloat16) around the forward pass, or "
    "torch.set_float32_matmul_precision(\"high\") for TF32. Choose sizes that are multiples of 8.";
inline constexpr char kTryAutocast[] =
    "Use torch.autocast(\"cuda\", dtype=torch.bfloat16) around the forward pass. Choose sizes that "
    "are multiples of 8.";

// memory-limit. {}: allocated bytes, all bytes, device
inline constexpr char kMemoryLimit[] =
    "At the peak, {} of the {} of GPU {} were allocated. A larger batch or fragmentation ends in "
    "\"out of memory\", and PyTorch returns memory to the driver and requests it again.";
// {}: operator
inline constexpr char kLargestBlock[] =
    " The largest block of the program's own was allocated here by {}.";
inline constexpr char kTryLessMemory[] =
    "Use a smaller batch, torch.autocast, torch.utils.checkpoint on the largest blocks, "
    "zero_grad(set_to_none=True), or an optimizer with less state.";

}  // namespace gpuprof::messages::advice_gpu
