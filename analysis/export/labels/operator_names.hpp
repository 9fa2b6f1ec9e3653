// SPDX-License-Identifier: Apache-2.0
//
// Names of operators that the viewers treat in their own way.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuprof::exporter {

enum class OpKind {
  kPlain,
  kProfilerStep,          // of the program's own profiler: ProfilerStep#…
  kKnownCollective,       // a collective the viewers know, perhaps by another name
  kOtherCollective,       // nccl: or gloo: with another name
  kUnprefixedCollective,  // named as a collective without a library: one if a record is around it
  kCollectiveRecord,      // the record PyTorch makes of a collective's arguments
  kEvaluateFunction,      // the autograd engine runs a node
  kUserAnnotation,        // data loaders and optimizers
};

/// The name by which TensorBoard's plugin knows a collective; without its library. Empty: none.
inline std::string_view plugin_collective_name(std::string_view collective) {
  struct Row {
    std::string_view name, plugin;
  };
  constexpr std::array<Row, 19> kRows = {{
      {"broadcast", "broadcast"},
      {"reduce", "reduce"},
      {"all_reduce", "all_reduce"},
      {"all_gather", "all_gather"},
      {"reduce_scatter", "reduce_scatter"},
      // Sharded parameters talk by these.
      {"_all_gather_base", "all_gather"},
      {"_reduce_scatter_base", "reduce_scatter"},
      {"all_gather_into_tensor_coalesced", "all_gather"},
      {"reduce_scatter_tensor_coalesced", "reduce_scatter"},
      {"allGatherSingleImpl", "all_gather"},
      {"reduceScatterSingleImpl", "reduce_scatter"},
      {"all_gather_single", "all_gather"},
      {"reduce_scatter_single", "reduce_scatter"},
      {"all_gather_single_coalesced", "all_gather"},
      {"reduce_scatter_single_coalesced", "reduce_scatter"},
      {"allreduce_coalesced", "all_reduce"},
      {"all_reduce_barrier", "all_reduce"},
      {"_broadcast_oop", "broadcast"},
      {"_reduce_oop", "reduce"},
  }};
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&](const Row& one) { return one.name == collective; });
  return row == kRows.end() ? std::string_view() : row->plugin;
}

/// A range PyTorch puts around the wait for a data loader.
inline bool is_data_loader(std::string_view name) { return name.starts_with("enumerate(Data"); }

inline constexpr std::string_view kProfilerStepPrefix = "ProfilerStep#";

/// What is drawn in front of a name: the plugin takes any such name for a step, and fails where no
/// number follows.
inline std::string_view display_prefix(std::string_view name) {
  return name.starts_with(kProfilerStepPrefix) ? "range " : "";
}

/// Whether it is a ProfilerStep#K; K has at most 18 digits, as where steps are recorded.
inline bool is_profiler_step(std::string_view name) {
  if (!name.starts_with(kProfilerStepPrefix)) return false;
  name.remove_prefix(kProfilerStepPrefix.size());
  return !name.empty() && name.size() <= 18 &&
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

inline OpKind classify_operator(std::string_view name) {
  if (name.empty()) return OpKind::kPlain;
  const auto bare = [&] {
    return plugin_collective_name(name).empty() ? OpKind::kPlain : OpKind::kUnprefixedCollective;
  };
  switch (name[0]) {
    case 'P':
      return is_profiler_step(name) ? OpKind::kProfilerStep : OpKind::kPlain;
    case 'O':
      return name.starts_with("Optimizer.") ? OpKind::kUserAnnotation : OpKind::kPlain;
    case 'e':
      return is_data_loader(name) ? OpKind::kUserAnnotation : OpKind::kPlain;
    case 'r':
      return name == "record_param_comms" ? OpKind::kCollectiveRecord : bare();
    case 'a':
      if (name.starts_with("aten::")) return OpKind::kPlain;
      return name.starts_with("autograd::engine::evaluate_function: ") ? OpKind::kEvaluateFunction
                                                                       : bare();
    case '_':
    case 'b':
      return bare();
    case 'n':
    case 'g':
      if (!name.starts_with("nccl:") && !name.starts_with("gloo:")) return OpKind::kPlain;
      return plugin_collective_name(name.substr(5)).empty() ? OpKind::kOtherCollective
                                                            : OpKind::kKnownCollective;
    default:
      return OpKind::kPlain;
  }
}

}  // namespace gpuprof::exporter
