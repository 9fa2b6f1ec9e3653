// SPDX-License-Identifier: Apache-2.0
//
// What GPUs did and what the host asked of them, by kind: rows of tables.
//
// Context:  cli
// Owns:     nothing
// Promises: rows are sorted by total time, longest first; every event is in one row
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/aggregation/duration_stats.hpp"
#include "analysis/report/timeline/stack_table.hpp"

namespace gpuprof::report {

/// Kernels of one name and shape, launched from one operator.
struct KernelRow {
  std::string name;   // demangled
  std::string owner;  // operator or range that launched it; empty: none
  FrameId line = 0;   // of the program, where it was launched; 0: not known
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t registers = 0, shared_bytes = 0, device = 0;
  double blocks_per_sm = 0, occupancy_percent = 0;  // 0: limits of the device are not known
  bool tensor_core = false;                         // by its name
  bool communication = false;                       // NCCL's
  DurationStats time;
  std::uint64_t warm_up_ns = 0, warm_up_count = 0;  // of these, launched in steps that stand apart
};

/// Copies of one kind, or sets.
struct CopyRow {
  std::string name;   // `Memcpy HtoD (Pageable -> Device)`, `Memset (Device)`
  std::string owner;  // operator or range
  FrameId line = 0;
  bool is_set = false, pageable = false;
  std::uint64_t bytes = 0;           // sum; 0: not known of any
  std::uint64_t known_ns = 0;        // on the GPU, of those whose bytes are known
  std::uint64_t host_ns = 0;         // what their calls took on the host
  std::uint64_t blocking_calls = 0;  // of these, calls that waited for the copy to end
  std::uint64_t blocking_ns = 0;     // host time in these
  double gigabytes_per_s = 0;        // bytes by their GPU time; 0: not known
  DurationStats time;                // on the GPU
};

/// Host calls of one function.
struct ApiRow {
  std::string name;
  bool driver = false;
  bool waits = false;  // a synchronisation by its name
  std::uint64_t failed = 0;
  DurationStats time;
};

/// NVTX and other ranges of the program.
struct RangeRow {
  std::string name, domain;
  std::int64_t self_cpu_ns = 0, device_ns = 0;
  DurationStats time;
};

/// Collectives of one operation. Of those whose host call was not recorded or is no collective's,
/// as in a graph, only the kernel is known.
struct CollectiveRow {
  std::string name;   // nccl:all_reduce, or the kernel's
  std::string group;  // of processes, as PyTorch names it; empty: not known
  std::string dtype;
  std::uint64_t bytes = 0;     // sum over calls
  DurationStats host, device;  // device: kernels it launched

  bool known_by_kernel_only() const { return host.count == 0; }
};

/// Where the host waited for a GPU.
struct GpuWaitRow {
  std::string call;   // cudaStreamSynchronize, cudaMemcpyAsync, …
  std::string owner;  // aten::_local_scalar_dense
  std::string outer;  // outermost operator: aten::item
  FrameId line = 0;
  bool in_steps = false;    // inside steps, on their thread
  std::uint64_t steps = 0;  // in how many of them
  DurationStats time;
};

struct GpuTables {
  std::vector<KernelRow> kernels;
  std::vector<KernelRow> kernel_names;  // of one name alone: shapes, owner and line are not told
  std::vector<CopyRow> copies;          // and sets
  std::vector<ApiRow> calls;
  std::vector<RangeRow> ranges;
  std::vector<CollectiveRow> collectives;
  std::vector<GpuWaitRow> waits;
  std::uint64_t kernel_ns = 0, copy_ns = 0, set_ns = 0, communication_ns = 0;  // sums
  std::uint64_t call_ns = 0, wait_ns = 0, tensor_core_ns = 0;
  std::uint64_t launches = 0;       // kernels, without those of steps that stand apart
  std::uint64_t tiny_kernels = 0;   // of these, shorter than kTinyKernelNs
  std::uint64_t launch_gap_ns = 0;  // a GPU was idle while the host was launching: launch_gaps.hpp
};
inline constexpr std::uint64_t kTinyKernelNs = 10'000;

/// By the names NVIDIA's libraries give kernels that use tensor cores.
bool uses_tensor_cores(std::string_view kernel);
/// An operator that could use them, by PyTorch's names.
bool is_tensor_core_eligible(std::string_view op);
/// The host waits in it for a GPU, by its name.
bool is_blocking_call(std::string_view call);

}  // namespace gpuprof::report
