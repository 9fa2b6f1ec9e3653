// SPDX-License-Identifier: Apache-2.0
//
// The same operator again and again from one place: repeated work, memory churn, tiny kernels.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/messages/advice_gpu.hpp"
#include "analysis/messages/advice_host.hpp"
#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/host_patterns.hpp"
#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice {
namespace {

/// Of the step. Low: operators that repeat in a row are evidence of their own.
constexpr double kRepeatShare = 0.0005;
/// Memory taken by such a row in each step before it is called churn.
constexpr double kChurnBytes = 1e6;
/// A row of so many launches or more is a matter of launching, if its kernels are tiny.
constexpr double kManyLaunches = 10;
constexpr std::uint64_t kMinRuns = 3;

struct Repeats {
  std::uint64_t runs = 0, operators = 0, ns = 0;
  std::set<std::size_t> steps;
  int first_line = 0, last_line = 0;
  double taken_bytes = 0, returned_bytes = 0, blocks = 0;
  double length() const { return static_cast<double>(operators) / static_cast<double>(runs); }
};
struct Key {
  FrameId line = 0;
  std::uint32_t name = 0, inputs = 0;
  auto operator<=>(const Key&) const = default;
};

/// Operators that only take memory, fill or copy it.
bool makes_copies(const std::string& name) {
  constexpr std::array<std::string_view, 16> kNames = {
      "aten::clone", "aten::contiguous", "aten::empty",     "aten::empty_like",
      "aten::zeros", "aten::zeros_like", "aten::ones",      "aten::ones_like",
      "aten::full",  "aten::full_like",  "aten::rand",      "aten::rand_like",
      "aten::randn", "aten::randn_like", "aten::new_zeros", "aten::new_empty"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

class RepeatsByLine {
 public:
  explicit RepeatsByLine(const StepThread& step_thread) : step_thread_(step_thread) {}
  std::map<Key, Repeats> find();

 private:
  void add_memory(const OpRun& run, Repeats* sums);

  const StepThread& step_thread_;
  std::size_t step_ = 0;
};

/// Blocks taken in a run, and what of it was given back within the step. Where most of it goes at
/// once, before the next operator, that time belongs to the run as well.
void RepeatsByLine::add_memory(const OpRun& run, Repeats* sums) {
  const auto& blocks = step_thread_.blocks;
  auto at = std::partition_point(blocks.begin(), blocks.end(), [&](const MemoryBlockEvent& block) {
    return block.ts_ns < run.start_ns;
  });
  std::unordered_map<std::uint64_t, std::int64_t> held;
  double taken = 0, returned = 0, at_once = 0;
  const std::uint64_t step_end_ns = step_thread_.steps[step_].end_ns;
  const std::uint64_t next_ns =
      run.last + 1 < step_thread_.ops.size() ? step_thread_.ops[run.last + 1].start_ns : run.end_ns;
  for (; at != blocks.end() && at->ts_ns < std::max(step_end_ns, next_ns); ++at) {
    if (at->bytes > 0) {
      if (at->ts_ns > run.end_ns) continue;
      held[at->address] = at->bytes;
      taken += static_cast<double>(at->bytes);
      ++sums->blocks;
      continue;
    }
    const auto block = held.find(at->address);
    if (block == held.end()) continue;
    returned += static_cast<double>(block->second);
    if (at->ts_ns >= run.end_ns && at->ts_ns < next_ns)
      at_once += static_cast<double>(block->second);
    held.erase(block);
  }
  sums->taken_bytes += taken;
  sums->returned_bytes += returned;
  if (taken > 0 && at_once >= taken / 2) sums->ns += next_ns - run.end_ns;
}

std::map<Key, Repeats> RepeatsByLine::find() {
  const std::vector<StackFacts> facts = stack_facts(step_thread_);
  std::map<Key, Repeats> found;
  for (const OpRun& run : find_runs(step_thread_, facts)) {
    const StepThreadOp& op = step_thread_.ops[run.first];
    Repeats& sums = found[{run.line, op.name, op.inputs}];
    const std::uint64_t ns = overlap_with_steps(step_thread_, &step_, run.start_ns, run.end_ns);
    ++sums.runs;
    sums.operators += run.length();
    sums.ns += ns;
    sums.steps.insert(step_);
    const StackFrame& last =
        step_thread_.places.frames[facts[step_thread_.ops[run.last].stack].user];
    sums.first_line = step_thread_.places.frames[run.line].line;
    sums.last_line = std::max(sums.last_line, last.line);
    if (step_ < step_thread_.steps.size()) add_memory(run, &sums);
  }
  return found;
}

enum class Verdict { kNone, kRepeated, kChurn, kTiny };

/// Kernels launched from a line: their number and time.
std::pair<double, double> kernels_of(const RuleInput& subject, FrameId line) {
  double count = 0, ns = 0;
  const std::string where = subject.step_thread.places.frames[line].location_text();
  for (const KernelRow& kernel : subject.analysis.gpu.kernels) {
    if (kernel.line == 0 ||
        subject.analysis.stack_table.frames[kernel.line].location_text() != where)
      continue;
    count += static_cast<double>(kernel.time.count);
    ns += static_cast<double>(kernel.time.total_ns);
  }
  return {count, ns};
}

Verdict judge(const RuleInput& subject, const Key& key, const Repeats& sums) {
  const StepThread& step_thread = subject.step_thread;
  const double steps = static_cast<double>(step_thread.steps.size());
  if (sums.runs < kMinRuns && !step_thread.is_synthetic) return Verdict::kNone;
  const auto [kernels, kernel_ns] = kernels_of(subject, key.line);
  const double device_ns = std::max(static_cast<double>(sums.ns), kernel_ns);
  if (device_ns < kRepeatShare * static_cast<double>(step_thread.total_step_ns()))
    return Verdict::kNone;
  if (makes_copies(step_thread.names[key.name])) {
    const bool churns =
        sums.taken_bytes / steps >= kChurnBytes && sums.returned_bytes >= sums.taken_bytes / 2;
    if (churns) return Verdict::kChurn;
  }
  if (kernels > 0 && sums.length() >= kManyLaunches && kernel_ns / kernels < kTinyKernelNs)
    return Verdict::kTiny;
  return Verdict::kRepeated;
}

Advice advice_of(const RuleInput& subject, std::string_view rule, const Key& key,
                 const Repeats& sums) {
  const StepThread& step_thread = subject.step_thread;
  SourceLocation where = location_of(step_thread, key.line);
  where.last_line = std::max(where.line, sums.last_line);
  Advice advice = make_advice(subject, rule, where, static_cast<double>(sums.ns));
  const double steps = static_cast<double>(step_thread.steps.size());
  advice.figures = {{"operators_per_run", sums.length()},
                    {"runs_per_step", static_cast<double>(sums.runs) / steps},
                    {"steps", static_cast<double>(sums.steps.size())},
                    {"mean_ns", static_cast<double>(sums.ns) / static_cast<double>(sums.operators)},
                    {"taken_bytes_per_step", sums.taken_bytes / steps},
                    {"returned_bytes_per_step", sums.returned_bytes / steps}};
  return advice;
}

template <typename Tell>
void each(const RuleInput& subject, Verdict wanted, std::string_view rule, AdviceList* found,
          const Tell& tell) {
  if (subject.step_thread.total_step_ns() == 0) return;
  for (const auto& [key, sums] : RepeatsByLine(subject.step_thread).find()) {
    if (judge(subject, key, sums) != wanted) continue;
    Advice advice = advice_of(subject, rule, key, sums);
    tell(subject.step_thread.names[key.name], key, sums, &advice);
    found->push_back(std::move(advice));
  }
}

}  // namespace

void repeated_work(const RuleInput& subject, AdviceList* found) {
  each(subject, Verdict::kRepeated, kRepeatedWork, found,
       [](const std::string& name, const Key&, const Repeats& sums, Advice* advice) {
         advice->finding =
             fmt::format(messages::advice_host::kRepeated, name, format_count(sums.length()),
                         format_time(advice->ns_per_step), per_step_text(*advice));
         advice->suggestion = messages::advice_host::kTryOnce;
       });
}

void allocation_churn(const RuleInput& subject, AdviceList* found) {
  each(subject, Verdict::kChurn, kAllocationChurn, found,
       [&](const std::string& name, const Key&, const Repeats& sums, Advice* advice) {
         const double steps = static_cast<double>(subject.step_thread.steps.size());
         advice->finding = fmt::format(
             messages::advice_host::kChurn, name, format_bytes(sums.taken_bytes / steps),
             format_count(sums.blocks / steps), format_bytes(sums.returned_bytes / steps),
             format_time(advice->ns_per_step), per_step_text(*advice), advice->share_base);
         advice->suggestion = messages::advice_host::kTryReuse;
         advice->figures.push_back({"blocks_per_step", sums.blocks / steps});
       });
}

void tiny_kernels(const RuleInput& subject, AdviceList* found) {
  each(subject, Verdict::kTiny, kTinyKernels, found,
       [&](const std::string& name, const Key& key, const Repeats& sums, Advice* advice) {
         const auto [kernels, kernel_ns] = kernels_of(subject, key.line);
         advice->finding = fmt::format(
             messages::advice_gpu::kTinyKernels, name, format_count(sums.length()),
             format_time(kernel_ns / kernels),
             format_time(static_cast<double>(sums.ns) / static_cast<double>(sums.operators)));
         advice->suggestion = messages::advice_gpu::kTryMerge;
         advice->figures.push_back({"kernel_mean_ns", kernel_ns / kernels});
       });
}

}  // namespace gpuprof::report::advice
