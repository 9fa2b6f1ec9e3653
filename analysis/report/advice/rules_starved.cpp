// SPDX-License-Identifier: Apache-2.0
//
// The stepping thread wants to run and gets no processor.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/messages/advice_host.hpp"
#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice {
namespace {

constexpr double kStarvedShare = 0.25;  // of the step
constexpr double kBusyShare = 0.9;      // of the processors, by threads of this process alone
constexpr std::uint64_t kMinNs = 3'000'000'000;  // samples of shorter recordings say too little

struct Shares {
  double cpu_ns = 0, blocked_ns = 0;
};

/// What samples say of the stepping thread inside of steps.
Shares in_steps(const StepThread& step_thread) {
  Shares shares;
  std::size_t step = 0;
  for (const ThreadSample& sample : step_thread.samples) {
    if (overlap_with_steps(step_thread, &step, sample.ts_ns, sample.ts_ns + 1) == 0) continue;
    (sample.blocked ? shares.blocked_ns : shares.cpu_ns) += static_cast<double>(sample.weight_ns);
  }
  return shares;
}

}  // namespace

void host_starved(const RuleInput& subject, AdviceList* found) {
  const StepThread& step_thread = subject.step_thread;
  const auto& facts = subject.analysis.meta.facts;
  const auto processors = facts.find("host.processors");
  if (step_thread.is_synthetic || step_thread.total_step_ns() < kMinNs || processors == facts.end())
    return;
  const double count = std::atof(processors->second.c_str());
  if (count < 1) return;
  const double wall_ns = static_cast<double>(step_thread.total_step_ns());
  const Shares shares = in_steps(step_thread);
  double others_ns = shares.cpu_ns;
  for (const ThreadRow& thread : subject.analysis.host.threads)
    if (thread.tid != step_thread.steps.front().tid)
      others_ns += static_cast<double>(thread.cpu_ns);
  const double starved_ns = wall_ns - shares.cpu_ns - shares.blocked_ns;
  if (starved_ns < kStarvedShare * wall_ns || others_ns < kBusyShare * count * wall_ns) return;
  Advice advice = make_advice(subject, kHostStarved, step_loop_location(subject), starved_ns);
  advice.finding = fmt::format(messages::advice_host::kStarved, format_time(advice.ns_per_step),
                               format_count(others_ns / wall_ns), format_count(count));
  advice.suggestion = messages::advice_host::kTryFewerThreads;
  advice.figures = {{"processors", count},
                    {"busy_processors", others_ns / wall_ns},
                    {"cpu_share", shares.cpu_ns / wall_ns},
                    {"blocked_share", shares.blocked_ns / wall_ns}};
  found->push_back(std::move(advice));
}

}  // namespace gpuprof::report::advice
