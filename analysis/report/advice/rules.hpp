// SPDX-License-Identifier: Apache-2.0
//
// The functions behind the table of rules (advice.cpp), by the file they stand in.
//
// Context:  cli
// Promises: each looks at its arguments only and adds what it finds; thresholds stand beside it
// Not here: words for a person about each rule (docs/advice.md)
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analysis/report/advice/advice.hpp"

namespace gpuprof::report::advice {

using AdviceList = std::vector<Advice>;

// rules_loading.cpp
inline constexpr std::string_view kDataLoading = "data-loading";
inline constexpr std::string_view kLoaderWorkers = "loader-workers";
void data_loading(const RuleInput& subject, AdviceList* found);
void loader_workers(const RuleInput& subject, AdviceList* found);

// rules_waits.cpp
inline constexpr std::string_view kSyncInLoop = "sync-in-loop";
inline constexpr std::string_view kPageableCopy = "pageable-copy";
void sync_in_loop(const RuleInput& subject, AdviceList* found);
void pageable_copy(const RuleInput& subject, AdviceList* found);

// rules_host.cpp, rules_starved.cpp
inline constexpr std::string_view kHostCode = "host-code";
inline constexpr std::string_view kHostStarved = "host-starved";
void host_code(const RuleInput& subject, AdviceList* found);
void host_starved(const RuleInput& subject, AdviceList* found);

// rules_repeats.cpp
inline constexpr std::string_view kRepeatedWork = "repeated-work";
inline constexpr std::string_view kAllocationChurn = "allocation-churn";
inline constexpr std::string_view kTinyKernels = "tiny-kernels";
void repeated_work(const RuleInput& subject, AdviceList* found);
void allocation_churn(const RuleInput& subject, AdviceList* found);
void tiny_kernels(const RuleInput& subject, AdviceList* found);

// rules_backward.cpp
inline constexpr std::string_view kExtraBackward = "extra-backward";
void extra_backward(const RuleInput& subject, AdviceList* found);

// rules_gpu.cpp
inline constexpr std::string_view kGpuIdle = "gpu-idle";
inline constexpr std::string_view kLaunchBound = "launch-bound";
inline constexpr std::string_view kFp32Math = "fp32-math";
inline constexpr std::string_view kMemoryLimit = "memory-limit";
void gpu_idle(const RuleInput& subject, AdviceList* found);
void launch_bound(const RuleInput& subject, AdviceList* found);
void fp32_math(const RuleInput& subject, AdviceList* found);
void memory_limit(const RuleInput& subject, AdviceList* found);

// rules_stalls.cpp
inline constexpr std::string_view kStepStalls = "step-stalls";
inline constexpr std::string_view kBetweenSteps = "between-steps";
void step_stalls(const RuleInput& subject, AdviceList* found);
void between_steps(const RuleInput& subject, AdviceList* found);

// rules_first_step.cpp
inline constexpr std::string_view kFirstStep = "first-step";
void first_step(const RuleInput& subject, AdviceList* found);

// rules_ranks.cpp
inline constexpr std::string_view kDataParallel = "data-parallel";
inline constexpr std::string_view kCommunication = "communication";
inline constexpr std::string_view kSlowRank = "slow-rank";
void data_parallel(const RuleInput& subject, AdviceList* found);
void communication(const RuleInput& subject, AdviceList* found);
void slow_rank(std::span<const RuleInput> subjects, AdviceList* found);

}  // namespace gpuprof::report::advice
