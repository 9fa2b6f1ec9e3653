// SPDX-License-Identifier: Apache-2.0
//
// Merging stacks.
//
// Context:  cli
#include "daemon/report/flame.hpp"

namespace gpuprof::report {

std::uint32_t FlameTree::make(std::uint32_t parent, std::string_view name, FlameKind kind) {
  const auto made = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({std::string(name), kind, parent, 0, nodes_[parent].first_child, 0, 0, 0, 0});
  nodes_[parent].first_child = made;
  return made;
}

std::uint32_t FlameTree::child(std::uint32_t parent, std::string_view name, FlameKind kind) {
  if (nodes_[parent].kind == FlameKind::kOther) return parent;
  const auto [id, fresh] =
      names_.emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  const auto found = children_.find({parent, id->second});
  if (found != children_.end()) return found->second;
  if (nodes_.size() < kMaxNodes) return children_[{parent, id->second}] = make(parent, name, kind);
  const auto [other, none] = others_.emplace(parent, 0);
  if (none) other->second = make(parent, "(other)", FlameKind::kOther);
  return other->second;
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
