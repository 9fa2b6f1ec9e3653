// SPDX-License-Identifier: Apache-2.0
//
// Advice on several GPUs and processes: findings, and what to try (docs/messages.md has the rules
// of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::advice_ranks {

// data-parallel. {}: number of GPUs
inline constexpr char kDataParallel[] =
    "DataParallel drives {} GPUs from one process. It copies the model to each of them in every "
    "step, and one Python interpreter launches the work of all.";
inline constexpr char kTryDistributed[] =
    "Use torch.nn.parallel.DistributedDataParallel with one process per GPU (torchrun).";

// communication. {}: time, name of a collective, how much of it
inline constexpr char kCommunication[] =
    "Communication with the other processes takes {} per step, most of it in {} ({}).";
// {}: number of calls, bytes
inline constexpr char kCallsAndBytes[] = "{}, {}";
inline constexpr char kTryLessCommunication[] =
    "Accumulate gradients over several batches (no_sync()), send them in half precision (a "
    "communication hook), or use fewer and larger collectives. If slow-rank names a rank, start "
    "there: the others wait for it.";

// slow-rank. {}: rank or process id
inline constexpr char kRank[] = "Rank {}";
inline constexpr char kProcess[] = "Process {}";
// {}: one of these two, time
inline constexpr char kSlowRank[] =
    "{} takes {} longer per step outside of collectives than the others, which wait for it in "
    "collectives.";
// {}: time
inline constexpr char kSlowLine[] = " {} of that is spent here.";
inline constexpr char kTryEqualWork[] =
    "Give every rank the same amount of work (samples of equal length, DistributedSampler), and "
    "move work that only one rank does (logging, saving, evaluation) out of the step. If all ranks "
    "spend their time on the same lines, check the machine of this rank.";

}  // namespace gpuprof::messages::advice_ranks
