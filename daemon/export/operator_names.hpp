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
  kBareCollective,   // named as a collective without a library: one if a record is around it
  kCollective,       // the record PyTorch makes of a collective's arguments
  kEvaluate,         // the autograd engine runs a node
  kUserAnnotation,   // data loaders and optimizers
};

inline OpKind kind_of(std::string_view name) {
  constexpr std::array<std::string_view, 5> kCollectives = {"broadcast", "reduce", "all_reduce",
                                                            "all_gather", "reduce_scatter"};
  const auto collective = [&](std::string_view text) {
    return std::find(kCollectives.begin(), kCollectives.end(), text) != kCollectives.end();
  };
  if (name.empty()) return OpKind::kPlain;
  if (collective(name)) return OpKind::kBareCollective;
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
      return collective(name.substr(5)) ? OpKind::kCommunication : OpKind::kOtherCollective;
    default:
      return OpKind::kPlain;
  }
}

}  // namespace gpuprof::exporter
