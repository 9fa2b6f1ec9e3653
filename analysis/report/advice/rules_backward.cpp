// SPDX-License-Identifier: Apache-2.0
//
// More backward passes than the optimizers can use.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/messages/advice_host.hpp"
#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/host_patterns.hpp"
#include "analysis/report/advice/rules.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::advice {
namespace {

/// So many more passes than steps of optimizers.
constexpr double kMorePasses = 1.05;
/// Of the step.
constexpr double kPassShare = 0.005;

struct OfLine {
  std::uint64_t passes = 0, again = 0, last_ones = 0, ns = 0, forward_ns = 0;
  std::uint32_t forward_stack = 0;
};

/// Where the forward operators begin, in the function that calls backward().
std::string forward_text(const StepThread& step_thread, std::uint32_t stack, FrameId line) {
  const StackFrame& called = step_thread.places.frames[line];
  for (const FrameId id : step_thread.places.stacks[stack]) {
    const StackFrame& frame = step_thread.places.frames[id];
    if (frame.file == called.file && frame.name == called.name)
      return fmt::format(messages::advice_host::kForwardStarts, frame.line);
  }
  return "";
}

Advice advice_of(const RuleInput& subject, FrameId line, const OfLine& sums,
                 const BackwardPasses& passes) {
  Advice advice = make_advice(subject, kExtraBackward, location_of(subject.step_thread, line),
                              static_cast<double>(sums.ns + sums.forward_ns));
  const double steps = static_cast<double>(subject.step_thread.steps.size());
  advice.finding = fmt::format(
      messages::advice_host::kExtraPasses,
      support::count_with_unit(sums.passes, "backward pass", "backward passes"),
      support::count_with_unit(passes.optimizer_steps, "optimizer step", "optimizer steps"),
      format_time(advice.ns_per_step), per_step_text(advice));
  if (sums.again != 0) advice.finding += messages::advice_host::kGraphRetained;
  if (sums.forward_stack != 0)
    advice.finding += forward_text(subject.step_thread, sums.forward_stack, line);
  advice.suggestion = messages::advice_host::kTryOnePass;
  advice.figures = {{"passes", static_cast<double>(sums.passes)},
                    {"passes_per_step", static_cast<double>(sums.passes) / steps},
                    {"optimizer_steps", static_cast<double>(passes.optimizer_steps)},
                    {"again", static_cast<double>(sums.again)},
                    {"forward_ns_per_step", static_cast<double>(sums.forward_ns) / steps},
                    {"backward_ns_per_step", static_cast<double>(sums.ns) / steps}};
  return advice;
}

}  // namespace

void extra_backward(const RuleInput& subject, AdviceList* found) {
  const StepThread& step_thread = subject.step_thread;
  const BackwardPasses passes = find_passes(step_thread, stack_facts(step_thread));
  const double wanted = kMorePasses * static_cast<double>(passes.optimizer_steps);
  if (passes.optimizer_steps == 0 || static_cast<double>(passes.passes.size()) <= wanted) return;
  std::map<FrameId, OfLine> lines;
  for (const BackwardPass& pass : passes.passes) {
    OfLine& line = lines[pass.line];
    ++line.passes;
    if (pass.graph_retained) ++line.again;
    if (pass.before_optimizer) ++line.last_ones;
    line.ns += pass.end_ns - pass.start_ns;
    line.forward_ns += pass.forward_ns;
    if (pass.forward_op != pass.first) line.forward_stack = step_thread.ops[pass.forward_op].stack;
  }
  // Gradients summed up over several batches by one line are none of it.
  const FrameId usual =
      std::max_element(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
        return a.second.last_ones < b.second.last_ones;
      })->first;
  for (const auto& [line, sums] : lines) {
    const double ns = static_cast<double>(sums.ns + sums.forward_ns);
    if (line == 0 || (line == usual && sums.again == 0)) continue;
    if (ns >= kPassShare * static_cast<double>(step_thread.total_step_ns()))
      found->push_back(advice_of(subject, line, sums, passes));
  }
}

}  // namespace gpuprof::report::advice
