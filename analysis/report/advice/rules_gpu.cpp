// SPDX-License-Identifier: Apache-2.0
//
// What the GPU does with its time: idle, starved by launches, without tensor cores, out of memory.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analysis/messages/advice_gpu.hpp"
#include "analysis/messages/report_shared.hpp"
#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/rules.hpp"

namespace gpuprof::report::advice {
namespace {

constexpr double kLowUtilisation = 0.5;    // the plugin's threshold
constexpr double kBetweenShare = 0.2;      // of all time, worth a sentence
constexpr double kHighMemory = 0.9;        // the plugin's threshold
constexpr std::uint32_t kTensorMajor = 7;  // compute capability from which there are tensor cores
constexpr double kEligibleShare = 0.05;    // of the step, kernels that could have used them
constexpr double kTinyShare = 0.5;         // of all kernels
constexpr double kGapShare = 0.25;         // of the step, the GPU waits for a launch
constexpr double kMinKernels = 50;         // a step

SourceLocation where_of(const ProcessReport& analysis, FrameId frame) {
  if (frame == 0) return {};
  const StackFrame& at = analysis.stack_table.frames[frame];
  return {at.file, at.name, at.line, at.line};
}

struct LineSum {
  double ns = 0, count = 0;
};

/// The line with the most of something; 0: none known.
FrameId line_with_most(const std::map<FrameId, LineSum>& lines, double LineSum::*what) {
  FrameId best = 0;
  double most = 0;
  for (const auto& [line, sums] : lines) {
    if (line == 0 || sums.*what <= most) continue;
    best = line;
    most = sums.*what;
  }
  return best;
}

/// Kernels of matrix products and convolutions.
struct MatmulTotals {
  double all_ns = 0, slow_ns = 0, tf32_ns = 0, count = 0;  // slow: single precision
  std::string longest;
  std::map<FrameId, LineSum> lines;
};

/// By what NVIDIA's libraries put into names of kernels that work on 16 bits and less.
bool is_reduced_precision(const std::string& kernel) {
  constexpr std::array<std::string_view, 10> kParts = {"bf16",  "f16",   "fp16", "half", "Half",
                                                       "16816", "h1688", "h884", "s884", "i8816"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return kernel.find(part) != std::string::npos; });
}

/// Fills, conversions of layouts and sums beside the product itself.
bool is_not_matmul(const std::string& kernel) {
  constexpr std::array<std::string_view, 7> kParts = {"at::native", "Nhwc",   "nhwcTo",  "nchwTo",
                                                      "splitK",     "reduce", "ransform"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return kernel.find(part) != std::string::npos; });
}

MatmulTotals products_of(const ProcessReport& analysis) {
  MatmulTotals products;
  double longest_ns = 0;
  for (const KernelRow& kernel : analysis.gpu.kernels) {
    if (!is_tensor_core_eligible(kernel.owner) || is_not_matmul(kernel.name)) continue;
    const double ns = static_cast<double>(kernel.time.total_ns - kernel.warm_up_ns);
    products.all_ns += ns;
    const bool tf32 = kernel.name.find("tf32") != std::string::npos;
    if (!tf32 && (is_reduced_precision(kernel.name) || kernel.tensor_core)) continue;
    products.slow_ns += ns;
    products.count += static_cast<double>(kernel.time.count - kernel.warm_up_count);
    if (tf32) products.tf32_ns += ns;
    products.lines[kernel.line].ns += ns;
    if (ns <= longest_ns) continue;
    longest_ns = ns;
    products.longest = kernel.name;
  }
  return products;
}

std::string largest_of(const Steps& steps) {
  const auto of = [&](Category category) {
    return steps.mean_ns[static_cast<std::size_t>(category)];
  };
  Category largest = Category::kOther;
  for (const Category one : {Category::kRuntime, Category::kDataLoader, Category::kCpuExec,
                             Category::kCommunication, Category::kMemcpy})
    if (of(one) > of(largest)) largest = one;
  return fmt::format("{} ({})", name_of(largest), format_time(of(largest)));
}

/// 0..1: what of the time from the first to the last step is in no step.
double between_steps_share(const Steps& steps) {
  if (steps.span_ns <= steps.counted_ns) return 0;
  return static_cast<double>(steps.span_ns - steps.counted_ns) / static_cast<double>(steps.span_ns);
}

std::string idle_in_steps(const Steps& steps, const GpuSummary& gpu, double ns_per_step) {
  return fmt::format(messages::advice_gpu::kIdleInSteps, gpu.device,
                     format_share(gpu.utilisation_in_steps), format_time(ns_per_step),
                     largest_of(steps));
}

std::string idle_between(const Steps& steps, const GpuSummary& gpu) {
  return fmt::format(messages::advice_gpu::kIdleBetweenSteps,
                     format_share(between_steps_share(steps)), format_share(gpu.utilisation));
}

/// What is idle in no step is a share of more than the steps.
void take_all_time(const Steps& steps, const GpuSummary& gpu, Advice* advice) {
  const double idle = 1 - gpu.utilisation;
  advice->share = idle;
  advice->share_base = messages::report_shared::kShareOfAllSteps;
  advice->ns_per_step = idle * static_cast<double>(steps.span_ns) /
                        static_cast<double>(std::max<std::size_t>(1, steps.counted));
}

}  // namespace

void gpu_idle(const RuleInput& subject, AdviceList* found) {
  const ProcessReport& analysis = subject.analysis;
  if (!analysis.has_gpu() || subject.step_thread.is_synthetic) return;
  for (const GpuSummary& gpu : analysis.steps.gpus) {
    if (gpu.kernels == 0 || gpu.utilisation >= kLowUtilisation) continue;
    const bool in_steps = gpu.utilisation_in_steps < kLowUtilisation;
    Advice advice = make_advice(
        subject, kGpuIdle, step_loop_location(subject),
        (1 - gpu.utilisation_in_steps) * static_cast<double>(subject.step_thread.total_step_ns()));
    if (in_steps) {
      advice.finding = idle_in_steps(analysis.steps, gpu, advice.ns_per_step);
    } else {
      advice.finding = fmt::format(messages::advice_gpu::kBusyInSteps, gpu.device,
                                   format_share(gpu.utilisation_in_steps));
      take_all_time(analysis.steps, gpu, &advice);
    }
    if (!in_steps || between_steps_share(analysis.steps) >= kBetweenShare)
      advice.finding += idle_between(analysis.steps, gpu);
    advice.suggestion =
        in_steps ? messages::advice_gpu::kTryMoreWork : messages::advice_gpu::kTryLessBetweenSteps;
    advice.figures = {{"device", static_cast<double>(gpu.device)},
                      {"utilisation_share", gpu.utilisation},
                      {"in_steps_share", gpu.utilisation_in_steps},
                      {"between_steps_share", between_steps_share(analysis.steps)},
                      {"sm_efficiency_share", gpu.sm_efficiency},
                      {"kernels", static_cast<double>(gpu.kernels)}};
    found->push_back(std::move(advice));
  }
}

void launch_bound(const RuleInput& subject, AdviceList* found) {
  const ProcessReport& analysis = subject.analysis;
  const StepThread& step_thread = subject.step_thread;
  if (!analysis.has_gpu() || step_thread.is_synthetic || step_thread.total_step_ns() == 0) return;
  double kernels = 0;
  for (const GpuSummary& gpu : analysis.steps.gpus) kernels += static_cast<double>(gpu.kernels);
  const double per_step =
      kernels / static_cast<double>(std::max<std::size_t>(1, analysis.steps.counted));
  const double tiny = static_cast<double>(analysis.gpu.tiny_kernels);
  const double all = static_cast<double>(std::max<std::uint64_t>(1, analysis.gpu.launches));
  double busiest = 0;
  for (const GpuSummary& gpu : analysis.steps.gpus)
    busiest = std::max(busiest, gpu.utilisation_in_steps);
  const double gap_ns = std::min(static_cast<double>(analysis.gpu.launch_gap_ns),
                                 (1 - busiest) * static_cast<double>(step_thread.total_step_ns()));
  if (per_step < kMinKernels || tiny / all < kTinyShare) return;
  if (gap_ns < kGapShare * static_cast<double>(step_thread.total_step_ns())) return;
  std::map<FrameId, LineSum> lines;
  for (const KernelRow& kernel : analysis.gpu.kernels)
    if (kernel.time.mean_ns < static_cast<double>(kTinyKernelNs))
      lines[kernel.line].count += static_cast<double>(kernel.time.count - kernel.warm_up_count);
  Advice advice = make_advice(subject, kLaunchBound,
                              where_of(analysis, line_with_most(lines, &LineSum::count)), gap_ns);
  if (!advice.where.known()) advice.where = step_loop_location(subject);
  advice.finding = fmt::format(messages::advice_gpu::kLaunchBound, format_count(per_step),
                               format_share(tiny / all), format_time(kTinyKernelNs),
                               format_time(advice.ns_per_step));
  advice.suggestion = messages::advice_gpu::kTryFewerKernels;
  advice.figures = {{"kernels_per_step", per_step},
                    {"tiny_share", tiny / all},
                    {"launch_gap_ns_per_step", advice.ns_per_step}};
  found->push_back(std::move(advice));
}

void fp32_math(const RuleInput& subject, AdviceList* found) {
  const ProcessReport& analysis = subject.analysis;
  const double steps_ns = static_cast<double>(subject.step_thread.total_step_ns());
  if (!analysis.has_gpu() || steps_ns == 0) return;
  const bool able =
      std::any_of(analysis.steps.gpus.begin(), analysis.steps.gpus.end(),
                  [](const GpuSummary& gpu) { return gpu.compute_major >= kTensorMajor; });
  if (!able) return;
  const MatmulTotals products = products_of(analysis);
  if (products.slow_ns < kEligibleShare * steps_ns || products.slow_ns < products.all_ns / 2)
    return;
  Advice advice = make_advice(subject, kFp32Math,
                              where_of(analysis, line_with_most(products.lines, &LineSum::ns)),
                              products.slow_ns);
  const bool tf32 = products.tf32_ns > products.slow_ns / 2;
  const std::string time = format_time(advice.ns_per_step);
  const std::string longest =
      products.longest.size() <= 60 ? products.longest : products.longest.substr(0, 57) + "...";
  if (tf32) {
    advice.finding = fmt::format(messages::advice_gpu::kTf32, time, per_step_text(advice), longest);
    advice.suggestion = messages::advice_gpu::kTryAutocast;
  } else {
    advice.finding = fmt::format(messages::advice_gpu::kFp32, time, per_step_text(advice), longest);
    advice.suggestion = messages::advice_gpu::kTryAutocastOrTf32;
  }
  advice.figures = {
      {"kernels", products.count},
      {"all_products_ns_per_step", advice.ns_per_step * products.all_ns / products.slow_ns},
      {"fp32_ns_per_step", advice.ns_per_step},
      {"tf32_share", products.tf32_ns / products.slow_ns}};
  found->push_back(std::move(advice));
}

void memory_limit(const RuleInput& subject, AdviceList* found) {
  for (const GpuSummary& gpu : subject.analysis.steps.gpus) {
    const double size = static_cast<double>(gpu.memory_bytes);
    const double peak = static_cast<double>(gpu.peak_allocated_bytes);
    if (size <= 0 || peak <= kHighMemory * size) continue;
    SourceLocation where;
    std::string owner;
    for (const DeviceMemory& memory : subject.analysis.memory.devices) {
      if (memory.device != static_cast<std::int32_t>(gpu.device) || memory.at_peak.empty())
        continue;
      for (const LiveBlock& block : memory.at_peak) {
        if (block.line == 0) continue;
        where = where_of(subject.analysis, block.line);
        owner = block.owner;
        break;
      }
    }
    Advice advice = make_advice(subject, kMemoryLimit, where, 0);
    advice.share = peak / size;
    advice.share_base = messages::report_shared::kShareOfGpuMemory;
    advice.finding = fmt::format(messages::advice_gpu::kMemoryLimit, format_bytes(peak),
                                 format_bytes(size), gpu.device);
    if (where.known()) advice.finding += fmt::format(messages::advice_gpu::kLargestBlock, owner);
    advice.suggestion = messages::advice_gpu::kTryLessMemory;
    advice.figures = {
        {"device", static_cast<double>(gpu.device)}, {"peak_bytes", peak}, {"device_bytes", size}};
    found->push_back(std::move(advice));
  }
}

}  // namespace gpuprof::report::advice
