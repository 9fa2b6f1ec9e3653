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
  kStep,             // of the program's own profiler: ProfilerStep#…
  kCommunication,    // a collective the viewers know, perhaps by another name
  kOtherCollective,  // nccl: or gloo: with another name
  kBareCollective,   // named as a collective without a library: one if a record is around it
  kCollective,       // the record PyTorch makes of a collective's arguments
  kEvaluate,         // the autograd engine runs a node
  kUserAnnotation,   // data loaders and optimizers
};

/// The name by which TensorBoard's plugin knows a collective; without its library. Empty: none.
inline std::string_view plugin_name(std::string_view collective) {
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
inline bool is_loader(std::string_view name) { return name.starts_with("enumerate(Data"); }

inline constexpr std::string_view kUserStepPrefix = "ProfilerStep#";

/// What is drawn in front of a name: the plugin takes any such name for a step, and fails where no
/// number follows.
inline std::string_view lead_of(std::string_view name) {
  return name.starts_with(kUserStepPrefix) ? "range " : "";
}

/// Whether it is a ProfilerStep#K; K has at most 18 digits, as where steps are recorded.
inline bool is_user_step(std::string_view name) {
  if (!name.starts_with(kUserStepPrefix)) return false;
  name.remove_prefix(kUserStepPrefix.size());
  return !name.empty() && name.size() <= 18 &&
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

inline OpKind kind_of(std::string_view name) {
  if (name.empty()) return OpKind::kPlain;
  const auto bare = [&] {
    return plugin_name(name).empty() ? OpKind::kPlain : OpKind::kBareCollective;
  };
  switch (name[0]) {
    case 'P':
      return is_user_step(name) ? OpKind::kStep : OpKind::kPlain;
    case 'O':
      return name.starts_with("Optimizer.") ? OpKind::kUserAnnotation : OpKind::kPlain;
    case 'e':
      return is_loader(name) ? OpKind::kUserAnnotation : OpKind::kPlain;
    case 'r':
      return name == "record_param_comms" ? OpKind::kCollective : bare();
    case 'a':
      if (name.starts_with("aten::")) return OpKind::kPlain;
      return name.starts_with("autograd::engine::evaluate_function: ") ? OpKind::kEvaluate : bare();
    case '_':
    case 'b':
      return bare();
    case 'n':
    case 'g':
      if (!name.starts_with("nccl:") && !name.starts_with("gloo:")) return OpKind::kPlain;
      return plugin_name(name.substr(5)).empty() ? OpKind::kOtherCollective
                                                 : OpKind::kCommunication;
    default:
      return OpKind::kPlain;
  }
}

}  // namespace gpuprof::exporter
