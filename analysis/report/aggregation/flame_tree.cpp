// SPDX-License-Identifier: Apache-2.0
//
// Merging stacks.
//
// Context:  cli
#include "analysis/report/aggregation/flame_tree.hpp"

namespace gpuprof::report {

std::uint32_t FlameTree::child(std::uint32_t parent, std::string_view name, FlameKind kind) {
  if (nodes_[parent].kind == FlameKind::kOther) return parent;
  const auto id =
      names_.emplace(std::string(name), static_cast<std::uint32_t>(names_.size())).first;
  std::uint32_t node = tree_.child(parent, id->second);
  if (node == exporter::IdTrie::kNone) {
    node = tree_.child_unlimited(parent, kOther);
    name = "(other)";
    kind = FlameKind::kOther;
  }
  if (node == nodes_.size()) {
    nodes_.push_back({std::string(name), kind, parent, 0, nodes_[parent].first_child, 0, 0, 0, 0});
    nodes_[parent].first_child = node;
  }
  return node;
}

void FlameTree::finish() {
  for (FlameNode& node : nodes_) {
    node.total = node.self;
    node.total_blocked = node.self_blocked;
  }
  for (std::size_t i = nodes_.size(); i-- > 1;) {
    nodes_[nodes_[i].parent].total += nodes_[i].total;
    nodes_[nodes_[i].parent].total_blocked += nodes_[i].total_blocked;
  }
}

}  // namespace gpuprof::report
