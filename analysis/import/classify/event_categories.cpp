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

constexpr std::pair<std::string_view, EventCategory> kCategories[] = {
    {"cpu_op", EventCategory::kOperator},
    {"operator", EventCategory::kOperator},
    {"torch_enclosing", EventCategory::kOperator},
    {"user_annotation", EventCategory::kUserAnnotation},
    {"python", EventCategory::kUserAnnotation},
    {"gc", EventCategory::kUserAnnotation},
    {"python_function", EventCategory::kFrame},
    {"nvtx_enclosing", EventCategory::kRange},
    // Calls.
    {"runtime", EventCategory::kRuntime},
    {"cuda_runtime", EventCategory::kRuntime},
    {"hip_runtime", EventCategory::kRuntime},
    {"xpu_runtime", EventCategory::kRuntime},
    {"mtia_runtime", EventCategory::kRuntime},
    {"glow_runtime", EventCategory::kRuntime},
    {"privateuse1_runtime", EventCategory::kRuntime},
    {"enqueue", EventCategory::kRuntime},
    {"dequeue", EventCategory::kRuntime},
    {"cuda_driver", EventCategory::kDriver},
    {"xpu_driver", EventCategory::kDriver},
    {"privateuse1_driver", EventCategory::kDriver},
    {"inner_call", EventCategory::kNestedCall},
    {"xpu_sync", EventCategory::kHostWait},
    {"hpu_op", EventCategory::kCallOrGpuWork},
    {"mtia_insight", EventCategory::kCallOrGpuWork},
    {"collective_comm", EventCategory::kCollective},
    // Work of devices.
    {"kernel", EventCategory::kKernel},
    {"concurrent_kernel", EventCategory::kKernel},
    {"mtia_ccp_events", EventCategory::kKernel},
    {"gpu_memcpy", EventCategory::kMemCopy},
    {"memcpy", EventCategory::kMemCopy},
    {"gpu_memset", EventCategory::kMemSet},
    {"memset", EventCategory::kMemSet},
    {"cuda_sync", EventCategory::kSync},
    {"overhead", EventCategory::kOverhead},
    // Instants and figures.
    {"cpu_instant_event", EventCategory::kInstant},
    {"cuda_event", EventCategory::kNotAnEvent},
    {"cuda_profiler_range", EventCategory::kNotAnEvent},
    {"mtia_counters", EventCategory::kNotAnEvent},
    {"xpu_scope_profiler", EventCategory::kNotAnEvent},
    {"hardware_counters", EventCategory::kNotAnEvent},
    // gpuprof's own.
    {"nvtx_range", EventCategory::kSpan},
    {"nvtx_crossing", EventCategory::kOverlappingRange},
    {"nvtx_deep", EventCategory::kDeepRange},
    {"torch_crossing", EventCategory::kOperatorCrossing},
    {"torch_deep", EventCategory::kOperatorDeep},
    {"nvtx_mark", EventCategory::kMark},
    {"cpu_sample", EventCategory::kSample},
    {"cpu_sample_blocked", EventCategory::kOffCpuSample},
    // Arrows.
    {"fwdbwd", EventCategory::kBackwardFlow},
    {"forward_backward", EventCategory::kOldBackwardFlow},
    {"ac2g", EventCategory::kLaunchFlow},
    {"async", EventCategory::kLaunchFlow},
    {"async_cpu_to_gpu", EventCategory::kLaunchFlow},
    {"async_gpu", EventCategory::kLaunchFlow},
    {"hosttodevice", EventCategory::kLaunchFlow},
    {"async_npu", EventCategory::kLaunchFlowOnly},
    // Of PyTorch's autograd profiler before Kineto.
    {"cpu_to_cuda", EventCategory::kLaunchFlowOnly},
    {"cpu_to_gpu", EventCategory::kLaunchFlowOnly},
    {"async_task_queue", EventCategory::kDuplicate},
    // What is drawn again.
    {"gpu_user_annotation", EventCategory::kDuplicate},
    {"external_correlation", EventCategory::kDuplicate},
    {"trace", EventCategory::kDuplicate},
};

constexpr std::pair<std::string_view, EventCategory> kEndings[] = {
    {"_runtime", EventCategory::kRuntime},
    {"_driver", EventCategory::kDriver},
    {"_sync", EventCategory::kHostWait},
    {"_memcpy", EventCategory::kMemCopy},
    {"_memset", EventCategory::kMemSet},
    {"_kernel", EventCategory::kKernel},
    {"_comm", EventCategory::kCollective},
    {"_counters", EventCategory::kNotAnEvent},
    {"_annotation", EventCategory::kUserAnnotation},
    {"_op", EventCategory::kCallOrGpuWork},
};

}  // namespace

std::string_view label_of(ParsedKind kind) {
  switch (kind) {
    case ParsedKind::kStep:
      return "step";
    case ParsedKind::kFrame:
      return "python_function";
    case ParsedKind::kModule:
      return "nn.Module";
    case ParsedKind::kRange:
    case ParsedKind::kSpan:
    case ParsedKind::kMark:
      return "range";
    case ParsedKind::kOperator:
      return "operator";
    case ParsedKind::kBackwardFlow:
    case ParsedKind::kLaunchFlow:
    case ParsedKind::kWorkFlow:
      return "arrow";
    case ParsedKind::kCall:
      return "runtime call";
    case ParsedKind::kAllocation:
      return "memory";
    case ParsedKind::kSample:
      return "sample";
    case ParsedKind::kOverhead:
      return "overhead";
    case ParsedKind::kSync:
      return "synchronization";
    case ParsedKind::kKernel:
      return "kernel";
    case ParsedKind::kGraph:
      return "graph";
    case ParsedKind::kMemCopy:
      return "memcpy";
    case ParsedKind::kMemSet:
      return "memset";
  }
  return "other";
}

EventCategory find_category(std::string_view category) {
  const std::string folded = folded_category(category);
  const auto* const row = std::find_if(std::begin(kCategories), std::end(kCategories),
                                       [&](const auto& one) { return one.first == folded; });
  return row == std::end(kCategories) ? EventCategory::kUnknown : row->second;
}

EventCategory guess_category(std::string_view category) {
  const std::string folded = folded_category(category);
  for (const auto& [ending, kind] : kEndings)
    if (folded.ends_with(ending)) return kind;
  return EventCategory::kUnknown;
}

bool is_api_call_name(std::string_view name) {
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
