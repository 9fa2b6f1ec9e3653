// SPDX-License-Identifier: Apache-2.0
//
// A flame graph: merged stacks with weights.
//
// Context:  cli
// Owns:     the nodes, at most kMaxNodes of them
// Promises: what has no room is added up in nodes "(other)"; no weight is lost
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/export/containers/id_trie.hpp"

namespace gpuprof::report {

enum class FlameKind : std::uint8_t { kRoot, kThread, kPython, kNative, kOperator, kGpu, kOther };

struct FlameNode {
  std::string name;
  FlameKind kind = FlameKind::kRoot;
  std::uint32_t parent = 0;
  std::uint32_t first_child = 0, next_sibling = 0;  // 0: none
  /// Of stacks that end here. Samples: running and waiting; GPU time: first one only.
  std::uint64_t self = 0, self_blocked = 0;
  /// With everything below; by finish().
  std::uint64_t total = 0, total_blocked = 0;
};

class FlameTree {
 public:
  static constexpr std::size_t kMaxNodes = 20'000;

  /// The child of `parent` of that name, made if need be. 0 is the root.
  std::uint32_t child(std::uint32_t parent, std::string_view name, FlameKind kind);
  void add(std::uint32_t node, std::uint64_t weight, std::uint64_t blocked) {
    nodes_[node].self += weight;
    nodes_[node].self_blocked += blocked;
  }
  /// Adds up totals; call it once, at the end. Parents have lower indexes than children.
  void finish();
  const std::vector<FlameNode>& nodes() const { return nodes_; }
  bool empty() const { return nodes_.size() == 1; }

 private:
  static constexpr exporter::IdTrie::Item kOther = ~0u;  // what has no room, below its parent

  exporter::IdTrie tree_{0, kMaxNodes};
  std::vector<FlameNode> nodes_{FlameNode{"all", FlameKind::kRoot, 0, 0, 0, 0, 0, 0, 0}};
  std::unordered_map<std::string, exporter::IdTrie::Item> names_;
};

struct Flames {
  FlameTree
      samples;    // weights: ns of CPU time (running), ns waiting; samples where no period known
  FlameTree gpu;  // weights: ns of GPU time; Python stack, operators, kernel
  bool samples_are_ns = false;
};

}  // namespace gpuprof::report
