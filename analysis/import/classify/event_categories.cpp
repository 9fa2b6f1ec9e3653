// SPDX-License-Identifier: Apache-2.0
//
// The table of categories.
//
// Context:  cli through analysis/commands
#include "analysis/import/classify/event_categories.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace gpuprof::importer {
namespace {

std::string folded_category(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return out;
}

constexpr std::pair<std::string_view, Kind> kCategories[] = {
    {"cpu_op", Kind::kOperator},
    {"operator", Kind::kOperator},
    {"torch_enclosing", Kind::kOperator},
    {"user_annotation", Kind::kOwnRange},
    {"python", Kind::kOwnRange},
    {"gc", Kind::kOwnRange},
    {"python_function", Kind::kFrame},
    {"nvtx_enclosing", Kind::kRange},
    // Calls.
    {"runtime", Kind::kRuntime},
    {"cuda_runtime", Kind::kRuntime},
    {"hip_runtime", Kind::kRuntime},
    {"xpu_runtime", Kind::kRuntime},
    {"mtia_runtime", Kind::kRuntime},
    {"glow_runtime", Kind::kRuntime},
    {"privateuse1_runtime", Kind::kRuntime},
    {"enqueue", Kind::kRuntime},
    {"dequeue", Kind::kRuntime},
    {"cuda_driver", Kind::kDriver},
    {"xpu_driver", Kind::kDriver},
    {"privateuse1_driver", Kind::kDriver},
    {"inner_call", Kind::kInner},
    {"xpu_sync", Kind::kHostWait},
    {"hpu_op", Kind::kHostOrWork},
    {"mtia_insight", Kind::kHostOrWork},
    {"collective_comm", Kind::kCollective},
    // Work of devices.
    {"kernel", Kind::kKernel},
    {"concurrent_kernel", Kind::kKernel},
    {"mtia_ccp_events", Kind::kKernel},
    {"gpu_memcpy", Kind::kMemCopy},
    {"memcpy", Kind::kMemCopy},
    {"gpu_memset", Kind::kMemSet},
    {"memset", Kind::kMemSet},
    {"cuda_sync", Kind::kSync},
    {"overhead", Kind::kOverhead},
    // Instants and figures.
    {"cpu_instant_event", Kind::kInstant},
    {"cuda_event", Kind::kNoWork},
    {"cuda_profiler_range", Kind::kNoWork},
    {"mtia_counters", Kind::kNoWork},
    {"xpu_scope_profiler", Kind::kNoWork},
    {"hardware_counters", Kind::kNoWork},
    // gpuprof's own.
    {"nvtx_range", Kind::kSpan},
    {"nvtx_crossing", Kind::kCrossing},
    {"nvtx_deep", Kind::kDeep},
    {"torch_crossing", Kind::kOperatorCrossing},
    {"torch_deep", Kind::kOperatorDeep},
    {"nvtx_mark", Kind::kMark},
    {"cpu_sample", Kind::kSample},
    {"cpu_sample_blocked", Kind::kSampleBlocked},
    // Arrows.
    {"fwdbwd", Kind::kArrow},
    {"forward_backward", Kind::kOlderArrow},
    {"ac2g", Kind::kLaunchArrow},
    {"async", Kind::kLaunchArrow},
    {"async_cpu_to_gpu", Kind::kLaunchArrow},
    {"async_gpu", Kind::kLaunchArrow},
    {"hosttodevice", Kind::kLaunchArrow},
    {"async_npu", Kind::kOnlyLaunchArrow},
    // Of PyTorch's autograd profiler before Kineto.
    {"cpu_to_cuda", Kind::kOnlyLaunchArrow},
    {"cpu_to_gpu", Kind::kOnlyLaunchArrow},
    {"async_task_queue", Kind::kRepeats},
    // What is drawn again.
    {"gpu_user_annotation", Kind::kRepeats},
    {"external_correlation", Kind::kRepeats},
    {"trace", Kind::kRepeats},
};

constexpr std::pair<std::string_view, Kind> kEndings[] = {
    {"_runtime", Kind::kRuntime}, {"_driver", Kind::kDriver},   {"_sync", Kind::kHostWait},
    {"_memcpy", Kind::kMemCopy},  {"_memset", Kind::kMemSet},   {"_kernel", Kind::kKernel},
    {"_comm", Kind::kCollective}, {"_counters", Kind::kNoWork}, {"_annotation", Kind::kOwnRange},
    {"_op", Kind::kHostOrWork},
};

}  // namespace

std::string_view word_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::kStep:
      return "step";
    case RecordKind::kFrame:
      return "python_function";
    case RecordKind::kModule:
      return "nn.Module";
    case RecordKind::kRange:
    case RecordKind::kSpan:
    case RecordKind::kMark:
      return "range";
    case RecordKind::kOperator:
      return "operator";
    case RecordKind::kArrow:
    case RecordKind::kLaunchArrow:
    case RecordKind::kWorkArrow:
      return "arrow";
    case RecordKind::kCall:
      return "runtime call";
    case RecordKind::kAllocation:
      return "memory";
    case RecordKind::kSample:
      return "sample";
    case RecordKind::kOverhead:
      return "overhead";
    case RecordKind::kSync:
      return "synchronization";
    case RecordKind::kKernel:
      return "kernel";
    case RecordKind::kGraph:
      return "graph";
    case RecordKind::kMemCopy:
      return "memcpy";
    case RecordKind::kMemSet:
      return "memset";
  }
  return "other";
}

Kind kind_of_category(std::string_view category) {
  const std::string folded = folded_category(category);
  const auto* const row = std::find_if(std::begin(kCategories), std::end(kCategories),
                                       [&](const auto& one) { return one.first == folded; });
  return row == std::end(kCategories) ? Kind::kUnknown : row->second;
}

Kind kind_by_ending(std::string_view category) {
  const std::string folded = folded_category(category);
  for (const auto& [ending, kind] : kEndings)
    if (folded.ends_with(ending)) return kind;
  return Kind::kUnknown;
}

bool is_call_name(std::string_view name) {
  constexpr std::array<std::string_view, 9> kLayers = {"AscendCL@", "Node@",    "Runtime@",
                                                       "HCCL@",     "Model@",   "Tiling@",
                                                       "Enqueue@",  "Dequeue@", "Communication@"};
  if (std::any_of(kLayers.begin(), kLayers.end(),
                  [&](std::string_view layer) { return name.starts_with(layer); }))
    return true;
  // `cudaMalloc`, `cuLaunchKernel`, `hsa_queue_create`: a library and what it does.
  constexpr std::array<std::string_view, 8> kLibraries = {"cuda", "cu",    "hip",  "ze",
                                                          "ur",   "aclrt", "musa", "hsa_"};
  return std::any_of(kLibraries.begin(), kLibraries.end(), [&](std::string_view library) {
    if (!name.starts_with(library) || name.size() <= library.size()) return false;
    const char next = name[library.size()];
    return library.back() == '_' || (next >= 'A' && next <= 'Z');
  });
}

}  // namespace gpuprof::importer
