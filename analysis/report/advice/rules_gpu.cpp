// SPDX-License-Identifier: Apache-2.0
//
// What the GPU does with its time: idle, starved by launches, without tensor cores, out of memory.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

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
constexpr double kFewestKernels = 50;      // a step

Where where_of(const Analysis& analysis, FrameId frame) {
  if (frame == 0) return {};
  const Frame& at = analysis.places.frames[frame];
  return {at.file, at.name, at.line, at.line};
}

struct LineSum {
  double ns = 0, count = 0;
};

/// The line with the most of something; 0: none known.
FrameId most(const std::map<FrameId, LineSum>& lines, double LineSum::*what) {
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
struct Products {
  double all_ns = 0, slow_ns = 0, tf32_ns = 0, count = 0;  // slow: single precision
  std::string longest;
  std::map<FrameId, LineSum> lines;
};

/// By what NVIDIA's libraries put into names of kernels that work on 16 bits and less.
bool is_narrow(const std::string& kernel) {
  constexpr std::array<std::string_view, 10> kParts = {"bf16",  "f16",   "fp16", "half", "Half",
                                                       "16816", "h1688", "h884", "s884", "i8816"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return kernel.find(part) != std::string::npos; });
}

/// Fills, conversions of layouts and sums beside the product itself.
bool is_aside(const std::string& kernel) {
  constexpr std::array<std::string_view, 7> kParts = {"at::native", "Nhwc",   "nhwcTo",  "nchwTo",
                                                      "splitK",     "reduce", "ransform"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return kernel.find(part) != std::string::npos; });
}

Products products_of(const Analysis& analysis) {
  Products products;
  double longest_ns = 0;
  for (const KernelRow& kernel : analysis.gpu.kernels) {
    if (!could_use_tensor_cores(kernel.owner) || is_aside(kernel.name)) continue;
    const double ns = static_cast<double>(kernel.time.total_ns - kernel.warm_up_ns);
    products.all_ns += ns;
    const bool tf32 = kernel.name.find("tf32") != std::string::npos;
    if (!tf32 && (is_narrow(kernel.name) || kernel.tensor_core)) continue;
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
  return fmt::format("{} ({})", name_of(largest), time_text(of(largest)));
}

constexpr const char* kMoreWork =
    "Give the GPU more work a step (a larger batch), and what the other advice names; where "
    "nothing else is named, the host launches too slowly: torch.compile or CUDA graphs.";
constexpr const char* kLessBetween =
    "Look at what the program does between its steps: evaluation, saving, loading, or a part of "
    "each iteration that lies outside of what was taken for the step.";

/// 0..1: what of the time from the first to the last step is in no step.
double between(const Steps& steps) {
  if (steps.span_ns <= steps.kept_ns) return 0;
  return static_cast<double>(steps.span_ns - steps.kept_ns) / static_cast<double>(steps.span_ns);
}

std::string idle_in_steps(const Steps& steps, const GpuSummary& gpu, double ns_per_step) {
  return fmt::format(
      "GPU {} runs kernels in {} of a step only, {} of each step it does not; most of that time "
      "goes into: {}.",
      gpu.device, share_text(gpu.in_steps), time_text(ns_per_step), largest_of(steps));
}

std::string idle_between(const Steps& steps, const GpuSummary& gpu) {
  return fmt::format(
      " {} of the time from the first to the last step lies between steps; of all that time the "
      "GPU is busy for {}.",
      share_text(between(steps)), share_text(gpu.utilisation));
}

/// What is idle in no step is a share of more than the steps.
void take_all_time(const Steps& steps, const GpuSummary& gpu, Advice* advice) {
  const double idle = 1 - gpu.utilisation;
  advice->share = idle;
  advice->of = "time from the first to the last step";
  advice->ns_per_step = idle * static_cast<double>(steps.span_ns) /
                        static_cast<double>(std::max<std::size_t>(1, steps.kept));
}

}  // namespace

void gpu_idle(const Subject& subject, Found* found) {
  const Analysis& analysis = subject.analysis;
  if (!analysis.has_gpu() || subject.story.made_up) return;
  for (const GpuSummary& gpu : analysis.steps.gpus) {
    if (gpu.kernels == 0 || gpu.utilisation >= kLowUtilisation) continue;
    const bool in_steps = gpu.in_steps < kLowUtilisation;
    Advice advice =
        start_advice(subject, kGpuIdle, loop_of(subject),
                     (1 - gpu.in_steps) * static_cast<double>(subject.story.steps_ns()));
    if (in_steps) {
      advice.what = idle_in_steps(analysis.steps, gpu, advice.ns_per_step);
    } else {
      advice.what =
          fmt::format("GPU {} runs kernels in {} of a step.", gpu.device, share_text(gpu.in_steps));
      take_all_time(analysis.steps, gpu, &advice);
    }
    if (!in_steps || between(analysis.steps) >= kBetweenShare)
      advice.what += idle_between(analysis.steps, gpu);
    advice.change = in_steps ? kMoreWork : kLessBetween;
    advice.figures = {{"device", static_cast<double>(gpu.device)},
                      {"utilisation_share", gpu.utilisation},
                      {"in_steps_share", gpu.in_steps},
                      {"between_steps_share", between(analysis.steps)},
                      {"sm_efficiency_share", gpu.sm_efficiency},
                      {"kernels", static_cast<double>(gpu.kernels)}};
    found->push_back(std::move(advice));
  }
}

void launch_bound(const Subject& subject, Found* found) {
  const Analysis& analysis = subject.analysis;
  const Story& story = subject.story;
  if (!analysis.has_gpu() || story.made_up || story.steps_ns() == 0) return;
  double kernels = 0;
  for (const GpuSummary& gpu : analysis.steps.gpus) kernels += static_cast<double>(gpu.kernels);
  const double per_step =
      kernels / static_cast<double>(std::max<std::size_t>(1, analysis.steps.kept));
  const double tiny = static_cast<double>(analysis.gpu.tiny_kernels);
  const double all = static_cast<double>(std::max<std::uint64_t>(1, analysis.gpu.launches));
  double busiest = 0;
  for (const GpuSummary& gpu : analysis.steps.gpus) busiest = std::max(busiest, gpu.in_steps);
  const double gap_ns = std::min(static_cast<double>(analysis.gpu.launch_gap_ns),
                                 (1 - busiest) * static_cast<double>(story.steps_ns()));
  if (per_step < kFewestKernels || tiny / all < kTinyShare) return;
  if (gap_ns < kGapShare * static_cast<double>(story.steps_ns())) return;
  std::map<FrameId, LineSum> lines;
  for (const KernelRow& kernel : analysis.gpu.kernels)
    if (kernel.time.mean_ns < static_cast<double>(kTinyKernelNs))
      lines[kernel.line].count += static_cast<double>(kernel.time.count - kernel.warm_up_count);
  Advice advice =
      start_advice(subject, kLaunchBound, where_of(analysis, most(lines, &LineSum::count)), gap_ns);
  if (!advice.where.known()) advice.where = loop_of(subject);
  advice.what = fmt::format(
      "{} kernels a step, {} of them shorter than {}: the GPU is done before the next one is "
      "launched and waits {} "
      "of each step for launches. Most of the short ones come from here.",
      count_text(per_step), share_text(tiny / all), time_text(kTinyKernelNs),
      time_text(advice.ns_per_step));
  advice.change =
      "Fewer, larger kernels: torch.compile(mode=\"reduce-overhead\") or CUDA graphs, fused or "
      "foreach "
      "optimizers, a larger batch.";
  advice.figures = {{"kernels_per_step", per_step},
                    {"tiny_share", tiny / all},
                    {"launch_gap_ns_per_step", advice.ns_per_step}};
  found->push_back(std::move(advice));
}

void fp32_math(const Subject& subject, Found* found) {
  const Analysis& analysis = subject.analysis;
  const double steps_ns = static_cast<double>(subject.story.steps_ns());
  if (!analysis.has_gpu() || steps_ns == 0) return;
  const bool able =
      std::any_of(analysis.steps.gpus.begin(), analysis.steps.gpus.end(),
                  [](const GpuSummary& gpu) { return gpu.compute_major >= kTensorMajor; });
  if (!able) return;
  const Products products = products_of(analysis);
  if (products.slow_ns < kEligibleShare * steps_ns || products.slow_ns < products.all_ns / 2)
    return;
  Advice advice = start_advice(
      subject, kFp32Math, where_of(analysis, most(products.lines, &LineSum::ns)), products.slow_ns);
  const bool tf32 = products.tf32_ns > products.slow_ns / 2;
  advice.what = fmt::format(
      "Matrix products and convolutions take {} of GPU time a step {}; the longest kernel is {}. "
      "Of the program's "
      "lines that launch them this one launches most.",
      time_text(advice.ns_per_step),
      tf32 ? "in single precision (TF32), half as fast as tensor cores are with 16 bits"
           : "in single precision, without tensor cores",
      products.longest.size() <= 60 ? products.longest : products.longest.substr(0, 57) + "...");
  advice.change = "torch.autocast(\"cuda\", dtype=torch.bfloat16) around the forward pass";
  if (!tf32) advice.change += ", or torch.set_float32_matmul_precision(\"high\") for TF32";
  advice.change += "; sizes that are multiples of 8.";
  advice.figures = {
      {"kernels", products.count},
      {"all_products_ns_per_step", advice.ns_per_step * products.all_ns / products.slow_ns},
      {"fp32_ns_per_step", advice.ns_per_step},
      {"tf32_share", products.tf32_ns / products.slow_ns}};
  found->push_back(std::move(advice));
}

void memory_limit(const Subject& subject, Found* found) {
  for (const GpuSummary& gpu : subject.analysis.steps.gpus) {
    const double size = static_cast<double>(gpu.memory_bytes);
    const double peak = static_cast<double>(gpu.peak_allocated_bytes);
    if (size <= 0 || peak <= kHighMemory * size) continue;
    Where where;
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
    Advice advice = start_advice(subject, kMemoryLimit, where, 0);
    advice.share = peak / size;
    advice.of = "GPU's memory";
    advice.what = fmt::format(
        "At its peak {} of the {} of GPU {} were allocated: the next larger batch or a fragmented "
        "pool ends in "
        "\"out of memory\", and PyTorch gives memory back to the driver and takes it again.{}",
        bytes_text(peak), bytes_text(size), gpu.device,
        where.known()
            ? fmt::format(" The largest block of the program's own was taken here by {}.", owner)
            : std::string());
    advice.change =
        "A smaller batch, torch.autocast, torch.utils.checkpoint on the largest blocks, "
        "zero_grad(set_to_none=True), or an optimizer with less state.";
    advice.figures = {
        {"device", static_cast<double>(gpu.device)}, {"peak_bytes", peak}, {"device_bytes", size}};
    found->push_back(std::move(advice));
  }
}

}  // namespace gpuprof::report::advice
