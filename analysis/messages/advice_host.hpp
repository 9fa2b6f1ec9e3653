// SPDX-License-Identifier: Apache-2.0
//
// Advice on what the host does in steps: findings, and what to try (docs/messages.md has the rules
// of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::advice_host {

// data-loading, loader-workers. {}: time, "per step" or "in total"
inline constexpr char kLoading[] =
    "The program spends {} {} loading batches. The DataLoader has no worker processes, so the "
    "thread that runs the steps does nothing else meanwhile.";
inline constexpr char kTryWorkers[] =
    "Use DataLoader(..., num_workers=N, persistent_workers=True), with pin_memory=True for a GPU. "
    "Start with N=2 and increase it while processors are free.";
inline constexpr char kSlowWorkers[] =
    "The program waits {} {} for batches. The worker processes load ahead but cannot keep up.";
inline constexpr char kTryMoreWorkers[] =
    "Use more workers (num_workers) while processors are free, and a larger prefetch_factor if "
    "some batches take much longer than others. Otherwise do less work per sample: decode and "
    "resize once and keep the result.";

// host-code. {}: operator, line, operator, line, time, "per step" or "in total"
inline constexpr char kOwnCode[] =
    "Between {} (line {}) and {} (line {}), the program's own code takes {} {}. No operator runs "
    "meanwhile.";
inline constexpr char kOwnCodeWaits[] =
    "Between {} (line {}) and {} (line {}), the program waits {} {}. No operator runs meanwhile.";
inline constexpr char kTryOutOfLoop[] =
    "Move this work out of the loop, do it every N steps, or do it in another thread. Replace "
    "loops over elements with tensor operators.";
inline constexpr char kTryNoWait[] =
    "Do not wait in the loop: remove the call, make it every N steps, or move it to another "
    "thread.";

// host-starved. {}: time, number of busy processors, number of processors
inline constexpr char kStarved[] =
    "The thread that runs the steps is ready to run but has no processor for {} per step. The "
    "threads of this process alone keep {} of {} processors busy.";
inline constexpr char kTryFewerThreads[] =
    "Use fewer threads (torch.set_num_threads(N) or OMP_NUM_THREADS) or fewer loader workers, or "
    "pin processes to separate processors (numactl, taskset).";

// repeated-work. {}: operator, how often, time, "per step" or "in total"
inline constexpr char kRepeated[] =
    "{} runs {} times in a row on inputs of the same shapes, which takes {} {}. It repeats the "
    "same work, or does work that one operator could do.";
inline constexpr char kTryOnce[] =
    "If the inputs are the same, compute the result once and keep it. Otherwise stack the inputs "
    "and call the operator once, or let torch.compile fuse the calls.";

// allocation-churn. {}: operator, bytes, number of blocks, freed bytes, time, "per step" or
// "in total", "step" or "recording"
inline constexpr char kChurn[] =
    "{0} allocates {1} in {2} blocks {5} and frees {3} within the {6}. With the copying, this "
    "takes {4} {5}.";
inline constexpr char kTryReuse[] =
    "Remove copies that nothing modifies. Otherwise allocate the memory once before the loop and "
    "write into it (copy_, out=).";

// extra-backward. {}: number of passes, number of optimizer steps, time, "per step" or "in total"
inline constexpr char kExtraPasses[] =
    "This line starts {} for {}, in addition to the pass that each optimizer step needs. With "
    "their forward operators, they take {} {}.";
inline constexpr char kGraphRetained[] =
    " A later pass traverses the graph of some of them again (retain_graph=True).";
// {}: line
inline constexpr char kForwardStarts[] = " The forward operators start at line {}.";
inline constexpr char kTryOnePass[] =
    "Sum the losses and call backward() once, reuse the outputs of the first forward pass, and "
    "remove passes that only inspect gradients. Then retain_graph=True is not needed either.";

}  // namespace gpuprof::messages::advice_host
