// SPDX-License-Identifier: Apache-2.0
//
// A tree by numbers: each node is found by its parent and what it is.
//
// Context:  daemon (export thread) | cli
// Owns:     the nodes and a table to find them: no allocation a node
// Promises: nodes have numbers in order of appearance, parents lower ones than children
// Not here: what the nodes stand for (stack_tree.hpp, analysis/report/aggregation/flame_tree.hpp)
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/export/containers/flat_hash_map.hpp"

namespace gpuprof::exporter {

class IdTrie {
 public:
  using Node = std::uint32_t;
  using Item = std::uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = ~0u;

  /// @param root What the root is.
  /// @param most Nodes the tree grows to, the root among them.
  IdTrie(Item root, std::size_t most) : most_(most), places_{{kRoot, root}} {}

  /// The child of `parent` that is `item`, made if need be. kNone: there is no room for it.
  Node child(Node parent, Item item) {
    if (places_.size() < most_) return child_unlimited(parent, item);
    const Node known = children_.get(key_of(parent, item));
    return known == FlatHashMap::kMissing ? kNone : known;
  }
  /// The same, whether there is room or not.
  Node child_unlimited(Node parent, Item item) {
    Node& node = children_[key_of(parent, item)];
    if (node == FlatHashMap::kMissing) {
      node = static_cast<Node>(places_.size());
      places_.push_back({parent, item});
    }
    return node;
  }

  Node parent(Node node) const { return places_[node].parent; }
  Item item(Node node) const { return places_[node].item; }
  std::size_t size() const { return places_.size(); }

 private:
  struct Place {
    Node parent;
    Item item;
  };

  /// Never 0, which the table does not take.
  static std::uint64_t key_of(Node parent, Item item) {
    return (std::uint64_t{parent} + 1) << 32 | item;
  }

  std::size_t most_;
  std::vector<Place> places_;
  FlatHashMap children_;
};

}  // namespace gpuprof::exporter
