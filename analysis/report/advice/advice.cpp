// SPDX-License-Identifier: Apache-2.0
//
// The table of rules, and what becomes of their findings.
//
// Context:  cli
#include "analysis/report/advice/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice {
namespace {

constexpr std::array<Rule, 20> kRules = {{
    {kDataLoading, "data loading without worker processes", data_loading, nullptr},
    {kLoaderWorkers, "DataLoader workers that cannot keep up", loader_workers, nullptr},
    {kSyncInLoop, "waits for the GPU in the training loop", sync_in_loop, nullptr},
    {kPageableCopy, "copies from pageable memory", pageable_copy, nullptr},
    {kHostCode, "time of the program between operators", host_code, nullptr},
    {kHostStarved, "steps that wait for a processor", host_starved, nullptr},
    {kRepeatedWork, "one operator many times in a row", repeated_work, nullptr},
    {kAllocationChurn, "memory allocated and freed in each step", allocation_churn, nullptr},
    {kTinyKernels, "many tiny kernels in a row", tiny_kernels, nullptr},
    {kExtraBackward, "more backward passes than optimizer steps", extra_backward, nullptr},
    {kGpuIdle, "a GPU that is idle most of the time", gpu_idle, nullptr},
    {kLaunchBound, "a GPU that waits for kernel launches", launch_bound, nullptr},
    {kFp32Math, "matrix products in single precision", fp32_math, nullptr},
    {kMemoryLimit, "GPU memory that is nearly full", memory_limit, nullptr},
    {kStepStalls, "single steps that take much longer", step_stalls, nullptr},
    {kBetweenSteps, "time between steps", between_steps, nullptr},
    {kFirstStep, "a first step that compiles or loads code", first_step, nullptr},
    {kDataParallel, "DataParallel on several GPUs", data_parallel, nullptr},
    {kCommunication, "much time in collectives", communication, nullptr},
    {kSlowRank, "a rank that the others wait for", nullptr, slow_rank},
}};

bool same_place(const Advice& a, const Advice& b) {
  return a.rule == b.rule && a.where.file == b.where.file && a.where.line == b.where.line &&
         a.where.function == b.where.function;
}

/// Of sorted advice: the worst process speaks for the others.
std::vector<Advice> merge_duplicates(std::vector<Advice> found) {
  std::vector<Advice> kept;
  for (Advice& advice : found) {
    const auto worse = std::find_if(kept.begin(), kept.end(), [&](const Advice& one) {
      return same_place(one, advice) && one.pid != advice.pid;
    });
    if (worse == kept.end())
      kept.push_back(std::move(advice));
    else
      ++worse->processes;
  }
  return kept;
}

}  // namespace

std::string SourceLocation::text() const {
  if (!known()) return "";
  if (last_line > line) return fmt::format("{}:{}-{}", file, line, last_line);
  return fmt::format("{}:{}", file, line);
}

std::span<const Rule> rules() { return kRules; }

const Rule* find_rule(std::string_view id) {
  const auto found =
      std::find_if(kRules.begin(), kRules.end(), [&](const Rule& rule) { return rule.id == id; });
  return found == kRules.end() ? nullptr : &*found;
}

std::vector<Advice> run_rules(std::span<const RuleInput> subjects) {
  std::vector<Advice> found;
  for (const Rule& rule : kRules) {
    if (rule.check_session != nullptr) rule.check_session(subjects, &found);
    if (rule.check_process == nullptr) continue;
    for (const RuleInput& subject : subjects) rule.check_process(subject, &found);
  }
  // Shares of something else than time say nothing of how much there is to gain.
  std::stable_sort(found.begin(), found.end(), [](const Advice& a, const Advice& b) {
    const bool timed = a.ns_per_step > 0;
    const bool other = b.ns_per_step > 0;
    return timed == other ? a.share > b.share : timed;
  });
  return merge_duplicates(std::move(found));
}

std::vector<Advice> run_rules(const Report& report) {
  std::vector<RuleInput> subjects;
  for (const ProcessReport& process : report.processes)
    subjects.push_back({process, process.step_thread});
  return run_rules(subjects);
}

}  // namespace gpuprof::report::advice
