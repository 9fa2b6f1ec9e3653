// SPDX-License-Identifier: Apache-2.0
//
// The stepping thread waits for its data.
//
// Context:  cli
#include <fmt/format.h>

#include "daemon/report/advice/host_time.hpp"
#include "daemon/report/advice/rule_list.hpp"
#include "daemon/report/advice/wording.hpp"

namespace gpuprof::report::advice {
namespace {

/// The plugin's threshold: of the step.
constexpr double kLoadingShare = 0.05;

struct Loading {
  double ns = 0;
  std::uint64_t calls = 0;
  FrameId line = 0;
  bool by_workers = false;
};

Loading measure(const Story& story) {
  Loading loading;
  std::size_t step = 0;
  for (const StoryOp& op : story.ops) {
    if (op.kind != StoryKind::kLoader) continue;
    const std::uint64_t ns = inside_steps(story, &step, op.start_ns, op.end_ns);
    if (ns == 0) continue;
    loading.ns += static_cast<double>(ns);
    ++loading.calls;
    loading.line = story.places.user_frame(op.stack);
    if (story.names[op.name].find("_MultiProcessing") != std::string::npos)
      loading.by_workers = true;
  }
  return loading;
}

Advice advice_of(const Subject& subject, std::string_view rule, const Loading& loading) {
  Advice advice = start_advice(subject, rule, where_of(subject.story, loading.line), loading.ns);
  advice.figures = {
      {"batches_per_step",
       static_cast<double>(loading.calls) / static_cast<double>(subject.story.steps.size())},
      {"mean_ns", loading.ns / static_cast<double>(loading.calls)}};
  return advice;
}

bool is_slow(const Subject& subject, const Loading& loading) {
  return loading.calls != 0 &&
         loading.ns > kLoadingShare * static_cast<double>(subject.story.steps_ns());
}

}  // namespace

void data_loading(const Subject& subject, Found* found) {
  const Loading loading = measure(subject.story);
  if (!is_slow(subject, loading) || loading.by_workers) return;
  Advice advice = advice_of(subject, kDataLoading, loading);
  advice.what = fmt::format(
      "Each step waits {} for its batch, which the stepping thread makes itself: nothing else goes on meanwhile.",
      time_text(advice.ns_per_step));
  advice.change = "DataLoader(..., num_workers=N, persistent_workers=True), on a GPU with pin_memory=True; "
                  "N from 2 up, as long as processors are free.";
  found->push_back(std::move(advice));
}

void loader_workers(const Subject& subject, Found* found) {
  const Loading loading = measure(subject.story);
  if (!is_slow(subject, loading) || !loading.by_workers) return;
  Advice advice = advice_of(subject, kLoaderWorkers, loading);
  advice.what = fmt::format(
      "Each step waits {} for a batch although worker processes load ahead: they cannot keep up.",
      time_text(advice.ns_per_step));
  advice.change = "More workers (num_workers) as long as processors are free, a larger prefetch_factor where batches "
                  "take unequally long; else less work a sample: decode and resize once and keep the result.";
  found->push_back(std::move(advice));
}

}  // namespace gpuprof::report::advice
