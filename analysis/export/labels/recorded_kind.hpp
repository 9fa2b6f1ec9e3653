// SPDX-License-Identifier: Apache-2.0
//
// What an operator is by its name, or by what its writer recorded it as.
//
// Context:  daemon (export thread) | cli
// Owns:     nothing
#pragma once

#include <string_view>

#include "analysis/export/labels/operator_names.hpp"
#include "recording/model/events.hpp"
#include "recording/model/imported_values.hpp"

namespace gpuprof::exporter {

/// classify_operator(), and collectives of other libraries: `xccl:all_reduce` of ranges,
/// `xccl::allreduce` of Kineto's records.
inline OpKind classify_recorded_operator(const model::Operator& op, std::string_view name) {
  if ((op.flags & model::kOpCollective) != 0) return OpKind::kKnownCollective;
  if (name.size() > 5 && (name[0] == 'x' || name[0] == 'h') && name.substr(1, 4) == "ccl:") {
    const bool known = name[5] == ':' || !plugin_collective_name(name.substr(5)).empty();
    return known ? OpKind::kKnownCollective : OpKind::kOtherCollective;
  }
  return classify_operator(name);
}

}  // namespace gpuprof::exporter
