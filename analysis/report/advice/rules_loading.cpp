// SPDX-License-Identifier: Apache-2.0
//
// The stepping thread waits for its data.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/messages/advice_host.hpp"
#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/host_patterns.hpp"
#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice {
namespace {

/// The plugin's threshold: of the step.
constexpr double kLoadingShare = 0.05;

/// Of the waits, the longest, left out before the threshold: a processor that others took.
constexpr double kLeftOut = 0.05;

struct Loading {
  double ns = 0, steps_ns = 0;  // without the first step and the end: there workers start and end
  double usual_ns = 0;          // of it, without the longest waits
  std::uint64_t calls = 0;
  FrameId line = 0;
  bool by_workers = false;
};

void leave_out_longest(std::vector<std::uint64_t>& waits, Loading* loading) {
  std::sort(waits.begin(), waits.end());
  const auto left_out =
      static_cast<std::size_t>(std::ceil(kLeftOut * static_cast<double>(waits.size())));
  for (std::size_t i = 0; i + left_out < waits.size(); ++i)
    loading->usual_ns += static_cast<double>(waits[i]);
}

Loading measure(const StepThread& step_thread) {
  Loading loading;
  if (step_thread.steps.size() < 2) return loading;
  const bool apart = !step_thread.warm_up.empty();
  const std::uint64_t begin_ns = step_thread.steps[apart ? 0 : 1].start_ns;
  loading.steps_ns = static_cast<double>(step_thread.total_step_ns() -
                                         (apart ? 0 : step_thread.steps[0].length_ns()));
  std::vector<std::uint64_t> waits;
  std::size_t step = 0;
  for (std::size_t i = 0; i < step_thread.ops.size(); ++i) {
    const StepThreadOp& op = step_thread.ops[i];
    if (op.kind != StepThreadOpKind::kLoader || op.start_ns < begin_ns) continue;
    const std::uint64_t ns = overlap_with_steps(step_thread, &step, op.start_ns, op.end_ns);
    if (ns == 0) continue;
    // After the last batch: the workers end.
    if (i + 1 == step_thread.ops.size() ||
        step_thread.ops[i + 1].start_ns >= step_thread.steps[step].end_ns) {
      loading.steps_ns -= static_cast<double>(ns);
      continue;
    }
    waits.push_back(ns);
    loading.ns += static_cast<double>(ns);
    loading.line = step_thread.places.user_frame(op.stack);
    if (step_thread.names[op.name].find("_MultiProcessing") != std::string::npos)
      loading.by_workers = true;
  }
  loading.calls = waits.size();
  leave_out_longest(waits, &loading);
  return loading;
}

Advice advice_of(const RuleInput& subject, std::string_view rule, const Loading& loading) {
  const std::size_t left_out = subject.step_thread.warm_up.empty() ? 1 : 0;
  const double steps = static_cast<double>(subject.step_thread.steps.size() - left_out);
  Advice advice = make_advice(subject, rule, location_of(subject.step_thread, loading.line), 0);
  advice.share = loading.ns / loading.steps_ns;
  advice.ns_per_step = loading.ns / steps;
  advice.figures = {{"batches_per_step", static_cast<double>(loading.calls) / steps},
                    {"mean_ns", loading.ns / static_cast<double>(loading.calls)},
                    {"without_longest_ns_per_step", loading.usual_ns / steps}};
  return advice;
}

bool is_slow(const Loading& loading) {
  return loading.calls != 0 && loading.usual_ns > kLoadingShare * loading.steps_ns;
}

}  // namespace

void data_loading(const RuleInput& subject, AdviceList* found) {
  const Loading loading = measure(subject.step_thread);
  if (!is_slow(loading) || loading.by_workers) return;
  Advice advice = advice_of(subject, kDataLoading, loading);
  advice.finding = fmt::format(messages::advice_host::kLoading, format_time(advice.ns_per_step),
                               per_step_text(advice));
  advice.suggestion = messages::advice_host::kTryWorkers;
  found->push_back(std::move(advice));
}

void loader_workers(const RuleInput& subject, AdviceList* found) {
  const Loading loading = measure(subject.step_thread);
  if (!is_slow(loading) || !loading.by_workers) return;
  Advice advice = advice_of(subject, kLoaderWorkers, loading);
  advice.finding = fmt::format(messages::advice_host::kSlowWorkers, format_time(advice.ns_per_step),
                               per_step_text(advice));
  advice.suggestion = messages::advice_host::kTryMoreWorkers;
  found->push_back(std::move(advice));
}

}  // namespace gpuprof::report::advice
