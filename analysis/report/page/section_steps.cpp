// SPDX-License-Identifier: Apache-2.0
//
// Steps and GPUs for the page's overview.
//
// Context:  cli
#include <fmt/format.h>

#include <array>
#include <functional>

#include "analysis/report/page/sections.hpp"

namespace gpuprof::report::page {
namespace {

constexpr std::size_t kParts = static_cast<std::size_t>(Category::kCount);
/// Colours of the style sheet, in the order of Category.
constexpr std::array<std::string_view, kParts> kKeys{
    "kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu", "other"};

/// Means over as many steps as give no more than `points` points.
class Curve {
 public:
  Curve(PageJson& json, const std::vector<StepRow>& steps, std::size_t points)
      : json_(json),
        steps_(steps),
        of_(std::max<std::size_t>(
            1, (steps.size() + points - 1) / std::max<std::size_t>(points, 1))) {}

  void write() {
    json_.object().key("of").number(static_cast<std::uint64_t>(of_));
    json_.key("label").array();
    for (std::size_t i = 0; i < steps_.size(); i += of_) json_.number(steps_[i].label);
    json_.end_array();
    means(
        "us", [](const StepRow& step) { return step.length_ns(); }, 1000);
    json_.key("max_us").array();
    each([this](auto first, auto last) {
      std::uint64_t most = 0;
      for (auto step = first; step != last; ++step) most = std::max(most, step->length_ns());
      json_.us(most);
    });
    json_.end_array();
    json_.key("parts").array();
    for (std::size_t part = 0; part < kParts; ++part)
      mean_array([part](const StepRow& step) { return step.time[part]; }, 1000);
    json_.end_array();
    means(
        "busy_us", [](const StepRow& step) { return step.gpu_busy_ns; }, 1000);
    means(
        "kernels", [](const StepRow& step) { return step.kernels; }, 1);
    json_.end_object();
  }

 private:
  using Value = std::function<std::uint64_t(const StepRow&)>;
  using At = std::vector<StepRow>::const_iterator;

  void each(const std::function<void(At, At)>& run) {
    for (std::size_t i = 0; i < steps_.size(); i += of_) {
      const auto first = steps_.begin() + static_cast<std::ptrdiff_t>(i);
      run(first, first + static_cast<std::ptrdiff_t>(std::min(of_, steps_.size() - i)));
    }
  }
  void mean_array(const Value& value, double unit) {
    json_.array();
    each([this, &value, unit](At first, At last) {
      double sum = 0;
      for (auto step = first; step != last; ++step) sum += static_cast<double>(value(*step));
      json_.number(sum / static_cast<double>(last - first) / unit);
    });
    json_.end_array();
  }
  void means(std::string_view key, const Value& value, double unit) {
    json_.key(key);
    mean_array(value, unit);
  }

  PageJson& json_;
  const std::vector<StepRow>& steps_;
  const std::size_t of_;
};

std::string where_of(const std::vector<StepRow>& steps) {
  for (const StepRow& step : steps)
    if (!step.where.empty()) return step.where;
  return {};
}

void write_gpu(PageJson& json, const GpuSummary& gpu) {
  json.object().key("device").number(gpu.device).key("name").text(gpu.name);
  json.key("utilisation").number(gpu.utilisation).key("facts").array();
  json.fact("In use (a kernel ran)", gpu.utilisation, "share");
  json.fact("SM efficiency (multiprocessors in use)", gpu.sm_efficiency, "share");
  json.fact("Kernel occupancy", gpu.occupancy_percent / 100, "share");
  json.fact("Kernel time on tensor cores", gpu.tensor_core_share, "share");
  json.fact("Kernels", gpu.kernels, "count")
      .us_fact("Kernel time", static_cast<double>(gpu.kernel_ns));
  if (gpu.memory_bytes > 0) json.fact("Memory", gpu.memory_bytes, "bytes");
  if (gpu.peak_allocated_bytes > 0) {
    json.fact("Peak allocated", gpu.peak_allocated_bytes, "bytes");
    json.fact("Peak reserved", gpu.peak_reserved_bytes, "bytes");
  }
  if (gpu.compute_major > 0)
    json.fact("Compute capability", fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor));
  if (gpu.sm_count > 0) json.fact("Multiprocessors", gpu.sm_count, "count");
  json.end_array().end_object();
}

}  // namespace

void write_steps(SectionContext& part) {
  const Steps& steps = part.analysis.steps;
  PageJson& json = part.json;
  json.object().key("count").number(
      static_cast<std::uint64_t>(steps.is_synthetic ? 0 : steps.steps.size()));
  json.key("kept")
      .number(static_cast<std::uint64_t>(steps.counted))
      .key("made_up")
      .flag(steps.is_synthetic);
  json.key("source").text(steps.source).key("where").text(where_of(steps.steps));
  json.key("mean_us").us(steps.length.mean_ns).key("p50_us").us(steps.length.p50_ns);
  json.key("p95_us").us(steps.length.p95_ns).key("max_us").us(steps.length.max_ns);
  json.key("parts").array();
  for (std::size_t i = 0; i < kParts; ++i) {
    json.object().key("key").text(kKeys[i]).key("title").text(name_of(static_cast<Category>(i)));
    json.key("us").us(steps.mean_ns[i]).end_object();
  }
  json.end_array().key("apart").array();
  for (const StepRow& step : steps.steps) {
    if (!step.warm_up) continue;
    json.object().key("label").number(step.label).key("us").us(step.length_ns());
    json.key("parts").array();
    for (const std::uint64_t ns : step.time) json.us(ns);
    json.end_array().end_object();
  }
  json.end_array().key("curve");
  static const std::vector<StepRow> none;
  Curve(json, steps.is_synthetic ? none : steps.steps, part.limits.step_points).write();
  json.end_object();
}

void write_gpus(SectionContext& part) {
  part.json.array();
  for (const GpuSummary& gpu : part.analysis.steps.gpus)
    if (gpu.kernels > 0 || gpu.busy_ns > 0) write_gpu(part.json, gpu);
  part.json.end_array();
}

}  // namespace gpuprof::report::page
