// SPDX-License-Identifier: Apache-2.0
//
// The stepping thread waits for the GPU: values asked for in the loop, copies from pageable memory.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/messages/advice_gpu.hpp"
#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/host_patterns.hpp"
#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice {
namespace {

/// A line that waits in half of the steps is reported whatever it takes: what the GPU does not get
/// to do meanwhile costs more than the wait.
constexpr double kStepsShare = 0.5;
/// Others from this share of the step on: rare ones, and waits inside of packages, which the
/// program cannot take out.
constexpr double kWaitShare = 0.01;
/// A GPU that busy does not starve.
constexpr double kBusy = 0.8;
/// Copies: of the step.
constexpr double kCopyShare = 0.005;

struct Waits {
  double ns = 0, wait_ns = 0;
  std::uint64_t count = 0;
  std::set<std::size_t> steps;
  std::uint32_t name = 0;  // of the operator, or the call
  std::uint64_t longest_ns = 0;
  bool direct = true;
};

class WaitsByLine {
 public:
  explicit WaitsByLine(const StepThread& step_thread)
      : step_thread_(step_thread), facts_(stack_facts(step_thread)) {}

  std::map<FrameId, Waits> find() {
    for (const StepThreadOp& op : step_thread_.ops)
      if (op.wait_ops != 0 && op.kind != StepThreadOpKind::kLoader)
        add(op.start_ns, op.end_ns, op.wait_ns, op.name, op.stack);
    at_ = 0;
    for (const GpuWait& wait : step_thread_.waits)
      add(wait.start_ns, wait.end_ns, wait.end_ns - wait.start_ns, wait.name, wait.stack);
    add_partners();
    return std::move(lines_);
  }

 private:
  void add(std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t wait_ns, std::uint32_t name,
           std::uint32_t stack) {
    const std::uint64_t ns = overlap_with_steps(step_thread_, &at_, start_ns, end_ns);
    if (ns == 0 || facts_[stack].user == 0) return;
    Waits& line = lines_[facts_[stack].user];
    line.ns += static_cast<double>(ns);
    line.wait_ns += static_cast<double>(wait_ns);
    ++line.count;
    line.steps.insert(at_);
    line.direct = line.direct && facts_[stack].is_innermost;
    if (ns < line.longest_ns) return;
    line.longest_ns = ns;
    line.name = name;
  }
  /// What else a line does that waits: `outputs.mean().item()`.
  void add_partners() {
    std::size_t at = 0;
    for (const StepThreadOp& op : step_thread_.ops) {
      const auto line = lines_.find(facts_[op.stack].user);
      if (line == lines_.end() || op.wait_ops != 0 || !facts_[op.stack].is_innermost) continue;
      line->second.ns +=
          static_cast<double>(overlap_with_steps(step_thread_, &at, op.start_ns, op.end_ns));
    }
  }

  const StepThread& step_thread_;
  std::vector<StackFacts> facts_;
  std::map<FrameId, Waits> lines_;
  std::size_t at_ = 0;
};

/// Lines that copy from pageable memory to a GPU, as `file:line`.
std::map<std::string, CopyRow> pageable_lines(const ProcessReport& analysis) {
  std::map<std::string, CopyRow> lines;
  for (const CopyRow& copy : analysis.gpu.copies) {
    if (copy.is_set || !copy.pageable || copy.line == 0) continue;
    if (copy.name.find("HtoD") == std::string::npos) continue;
    CopyRow& sum = lines.try_emplace(analysis.stack_table.frames[copy.line].location_text(), copy)
                       .first->second;
    if (sum.owner == copy.owner && sum.bytes == copy.bytes) continue;
    sum.bytes += copy.bytes;
    sum.blocking_calls += copy.blocking_calls;
    sum.blocking_ns += copy.blocking_ns;
  }
  return lines;
}

std::vector<Figure> figures_of(const StepThread& step_thread, const Waits& waits) {
  const double steps = static_cast<double>(step_thread.steps.size());
  return {{"waits_per_step", static_cast<double>(waits.count) / steps},
          {"steps", static_cast<double>(waits.steps.size())},
          {"wait_ns_per_step", waits.wait_ns / steps},
          {"mean_ns", waits.ns / static_cast<double>(waits.count)}};
}

bool is_worth_telling(const StepThread& step_thread, const Waits& waits) {
  const double steps = static_cast<double>(step_thread.steps.size());
  if (waits.ns >= kWaitShare * static_cast<double>(step_thread.total_step_ns())) return true;
  return waits.direct && static_cast<double>(waits.steps.size()) >= kStepsShare * steps;
}

std::string change_for(const std::string& name) {
  if (name.find("nonzero") != std::string::npos ||
      name.find("masked_select") != std::string::npos || name.find("unique") != std::string::npos ||
      name == "aten::index")
    return messages::advice_gpu::kTryFixedSize;
  if (name.starts_with("cuda") || name.starts_with("cu"))
    return messages::advice_gpu::kTryNoSynchronisation;
  return messages::advice_gpu::kTryReadLater;
}

}  // namespace

void sync_in_loop(const RuleInput& subject, AdviceList* found) {
  const StepThread& step_thread = subject.step_thread;
  if (step_thread.total_step_ns() == 0 || step_thread.is_synthetic) return;
  const auto pageable = pageable_lines(subject.analysis);
  for (const auto& [frame, waits] : WaitsByLine(step_thread).find()) {
    if (pageable.contains(step_thread.places.frames[frame].location_text())) continue;
    if (!is_worth_telling(step_thread, waits)) continue;
    const std::string& name = step_thread.names[waits.name];
    Advice advice = make_advice(subject, kSyncInLoop, location_of(step_thread, frame), waits.ns);
    advice.finding = fmt::format(messages::advice_gpu::kWaits, name,
                                 format_times(static_cast<double>(waits.count) /
                                              static_cast<double>(step_thread.steps.size())),
                                 format_time(waits.ns / static_cast<double>(waits.count)));
    for (const GpuSummary& gpu : subject.analysis.steps.gpus)
      if (gpu.utilisation_in_steps >= kBusy)
        advice.finding += fmt::format(messages::advice_gpu::kBusyAnyway, gpu.device,
                                      format_share(gpu.utilisation_in_steps));
    advice.suggestion = change_for(name);
    advice.figures = figures_of(step_thread, waits);
    found->push_back(std::move(advice));
  }
}

void pageable_copy(const RuleInput& subject, AdviceList* found) {
  const StepThread& step_thread = subject.step_thread;
  if (step_thread.total_step_ns() == 0) return;
  const auto pageable = pageable_lines(subject.analysis);
  if (pageable.empty()) return;
  for (const auto& [frame, waits] : WaitsByLine(step_thread).find()) {
    const auto copies = pageable.find(step_thread.places.frames[frame].location_text());
    if (copies == pageable.end()) continue;
    if (waits.ns < kCopyShare * static_cast<double>(step_thread.total_step_ns())) continue;
    Advice advice = make_advice(subject, kPageableCopy, location_of(step_thread, frame), waits.ns);
    const double steps = static_cast<double>(step_thread.steps.size());
    advice.finding = fmt::format(messages::advice_gpu::kPageableCopy,
                                 format_bytes(static_cast<double>(copies->second.bytes) / steps),
                                 format_time(advice.ns_per_step), per_step_text(advice));
    advice.suggestion = messages::advice_gpu::kTryPinned;
    advice.figures = figures_of(step_thread, waits);
    advice.figures.push_back({"bytes_per_step", static_cast<double>(copies->second.bytes) / steps});
    found->push_back(std::move(advice));
  }
}

}  // namespace gpuprof::report::advice
