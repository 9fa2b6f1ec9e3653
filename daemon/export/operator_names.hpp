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
  kCommunication,    // one of the ten names the viewers know as collectives
  kOtherCollective,  // nccl: or gloo: with another name
  kCollective,       // the record PyTorch makes of a collective's arguments
  kEvaluate,         // the autograd engine runs a node
  kUserAnnotation,   // data loaders and optimizers
};

inline OpKind kind_of(std::string_view name) {
  constexpr std::array<std::string_view, 5> kCollectives = {"broadcast", "reduce", "all_reduce",
                                                            "all_gather", "reduce_scatter"};
  if (name.empty()) return OpKind::kPlain;
  switch (name[0]) {
    case 'P':
      return name.starts_with("ProfilerStep#") ? OpKind::kStep : OpKind::kPlain;
    case 'O':
      return name.starts_with("Optimizer.") ? OpKind::kUserAnnotation : OpKind::kPlain;
    case 'e':
      return name.starts_with("enumerate(Data") ? OpKind::kUserAnnotation : OpKind::kPlain;
    case 'r':
      return name == "record_param_comms" ? OpKind::kCollective : OpKind::kPlain;
    case 'a':
      return name.starts_with("autograd::engine::evaluate_function: ") ? OpKind::kEvaluate
                                                                       : OpKind::kPlain;
    case 'n':
    case 'g':
      if (!name.starts_with("nccl:") && !name.starts_with("gloo:")) return OpKind::kPlain;
      return std::find(kCollectives.begin(), kCollectives.end(), name.substr(5)) !=
                     kCollectives.end()
                 ? OpKind::kCommunication
                 : OpKind::kOtherCollective;
    default:
      return OpKind::kPlain;
  }
}

}  // namespace gpuprof::exporter
