// SPDX-License-Identifier: Apache-2.0
//
// Advice on single steps and the time between steps: findings, and what to try (docs/messages.md
// has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::advice_steps {

// step-stalls. {}: number of steps, of all, which, what happens in them, time, longest time, median
inline constexpr char kStalls[] =
    "In {} of {} steps ({}), {}: {} in total, up to {} per step. The median step takes {} and does "
    "not show this.";
// between-steps. {}: how often, after which steps, what happens there, time, longest time
inline constexpr char kBetween[] =
    "Between steps, {} ({}), {}: {} in total, up to {} each time. No step includes this time.";

// What happens, inside both. Behind most of them: {}: function, operator or call
inline constexpr char kWhat[] = " ({})";
inline constexpr char kSaves[] = "the program saves data";
inline constexpr char kEvaluates[] = "the program runs an evaluation";
inline constexpr char kLoads[] = "the program loads data";
inline constexpr char kWaits[] = "the thread waits";
inline constexpr char kWaitsForGil[] =
    "the thread waits for Python's lock (GIL) while another thread runs this line";
inline constexpr char kImports[] = "the program imports modules";
inline constexpr char kCompiles[] = "the program compiles code";
inline constexpr char kInitialisesCuda[] = "the program initialises CUDA";
inline constexpr char kWaitsForGpu[] = "the thread waits for the GPU";
inline constexpr char kRunsOperators[] = "operators run, mostly {}";
inline constexpr char kRunsOwnCode[] = "the program's own code runs";

inline constexpr char kTrySaving[] =
    "Save less often, on one rank only, or in the background "
    "(torch.distributed.checkpoint.async_save, or a thread that writes a copy).";
inline constexpr char kTryEvaluating[] =
    "Evaluate less often or on fewer batches, use torch.inference_mode() and a larger batch, or "
    "evaluate in a separate process.";
inline constexpr char kTryLoading[] =
    "Use DataLoader(..., num_workers=N, persistent_workers=True), so that workers stay alive "
    "between epochs and load ahead.";
inline constexpr char kTryOtherProcess[] =
    "Do this work in another process, or in code that releases the lock. Shorter pieces of work "
    "let the training run in between.";
inline constexpr char kTryNoWait[] =
    "Do not wait in the loop: remove the call, make it less often, or move it to another thread.";
inline constexpr char kTrySameShapes[] =
    "Keep shapes the same (padding, drop_last=True), or mark what changes as dynamic, so that "
    "nothing is compiled again.";
inline constexpr char kTryImporting[] = "Import these modules when the program starts.";
inline constexpr char kTryLess[] =
    "Do this less often, do less of it, or move it to another thread or process.";

// first-step. {}: time, how many times as long as others, cause, its time
inline constexpr char kFirstStep[] =
    "The first step takes {}, {} times as long as the others; {} takes {} of it. Step figures and "
    "all other advice exclude this step.";
inline constexpr char kCompilation[] = "compilation (torch.compile)";
inline constexpr char kLazyLoading[] = "loading of device code (lazy loading)";
inline constexpr char kTryFirstStep[] =
    "To shorten it, keep the compiler's cache (TORCHINDUCTOR_CACHE_DIR) and use shapes that do not "
    "change. To record without it, use --wait 1 or --skip-first 1.";

}  // namespace gpuprof::messages::advice_steps
