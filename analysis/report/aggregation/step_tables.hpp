// SPDX-License-Identifier: Apache-2.0
//
// Iterations: how long each took, with what, and how busy GPUs were.
//
// Context:  cli
// Owns:     nothing
// Promises: the eight categories of a step add up to its length, counted as TensorBoard's PyTorch
//           plugin counts them: what lies under an earlier category is not in a later one
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/aggregation/duration_stats.hpp"

namespace gpuprof::report {

enum class Category : std::uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kCommunication,
  kRuntime,
  kDataLoader,
  kCpuExec,
  kOther,
  kCount
};
std::string_view name_of(Category category);
using Breakdown = std::array<std::uint64_t, static_cast<std::size_t>(Category::kCount)>;  // ns

struct StepRow {
  std::uint64_t label = 0;
  std::uint32_t window = 0;
  std::uint64_t host_start_ns = 0, host_end_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t start_ns = 0, end_ns = 0;            // cut again where its GPU work ends later
  Breakdown time{};
  std::uint64_t gpu_busy_ns = 0;                         // something ran on any GPU
  std::uint64_t kernels = 0;                             // launched in it
  std::uint64_t kernel_ns = 0;                           // sum of these
  std::uint64_t waits = 0, wait_ns = 0;                  // for a GPU, on any thread
  std::uint64_t launch_ns = 0;                           // in host calls that launched something
  std::uint64_t peak_cpu_bytes = 0, peak_gpu_bytes = 0;  // allocated; largest of all GPUs
  std::uint64_t allocations = 0, allocated_bytes = 0;
  std::uint64_t lost_records = 0;  // records, at most: of losses told for a time that overlaps it
  bool is_counted = true;          // counts in means
  bool warm_up =
      false;  // it does not, being slow as the program's first ones are: warm_up_steps.hpp
              // (else it is torn by the recording's end, as the plugin has it)
  bool is_synthetic = false;  // around a window without steps
  std::string where;          // file:line of the loop

  std::uint64_t length_ns() const { return end_ns - start_ns; }
};

struct GpuSummary {
  std::uint32_t device = 0;
  std::string name;  // empty: not known
  std::uint64_t memory_bytes = 0;
  std::uint32_t compute_major = 0, compute_minor = 0, sm_count = 0;
  // Shares are 0..1, from the first kept step's start to the last one's end or, without steps, over
  // the recording. Sums are of the same time.
  double utilisation = 0;  // some kernel ran
  double utilisation_in_steps =
      0;                         // the same, of the kept steps alone: without the time between them
  double sm_efficiency = 0;      // weighted with how many multiprocessors blocks could fill
  double occupancy_percent = 0;  // of kernels, weighted with time
  double tensor_core_share = 0;  // of kernel time
  std::uint64_t busy_ns = 0, kernel_ns = 0, kernels = 0;
  std::uint64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0;
};

struct Steps {
  std::vector<StepRow> steps;  // in order of time; all of them
  std::size_t counted = 0;     // of these, counted in mean, length and GPU summary
  std::array<double, static_cast<std::size_t>(Category::kCount)> mean_ns{};
  DurationStats length;
  std::vector<GpuSummary> gpus;
  std::size_t warm_up = 0;       // of these, warm-up steps at the program's begin
  std::uint64_t span_ns = 0;     // what the GPUs' shares are of; sum of all windows
  std::uint64_t counted_ns = 0;  // of it, in kept steps
  bool is_synthetic = false;     // no step was recorded: one around everything
  std::string source;            // who found them: "user", "loop", …; empty: not known
};

}  // namespace gpuprof::report
