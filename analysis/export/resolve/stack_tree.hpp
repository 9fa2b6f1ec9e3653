// SPDX-License-Identifier: Apache-2.0
//
// Distinct stacks as a tree: each node is an entry (a frame, an operator, a kernel) below another.
//
// Context:  daemon (export thread) | cli
// Owns:     entries and nodes, at most kMaxNodes: what finds no room lies in one node
// Promises: equal stacks are one node; entries and nodes have numbers in order of appearance
// Not here: which stack an event belongs to (weighted_stacks.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/export/containers/id_trie.hpp"
#include "analysis/export/labels/stack_formatter.hpp"

namespace gpuprof::exporter {

class StackTree {
 public:
  using Entry = std::uint32_t;
  using Node = IdTrie::Node;
  static constexpr Node kRoot = IdTrie::kRoot;
  static constexpr Node kOverflow = 1;  // stacks for which there was no room
  static constexpr std::size_t kMaxNodes = 2'000'000;

  /// What stands in a stack.
  struct EntryInfo {
    std::string name, file;
    std::uint32_t line = 0;  // 0: not known
  };

  StackTree();

  /// A frame; the same one is asked for by its number next time.
  Entry frame(StackFormatter::Frame frame, const StackFormatter& stacks);
  /// An operator, a kernel, a thread…
  Entry intern_name(std::string_view name);
  Node child(Node parent, Entry entry);
  /// The stack below `top`. @param frames Innermost first.
  Node add_stack(Node top, const std::vector<StackFormatter::Frame>& frames,
                 const StackFormatter& stacks);

  Node parent(Node node) const { return tree_.parent(node); }
  Entry entry(Node node) const { return tree_.item(node); }
  const EntryInfo& line(Entry entry) const { return lines_[entry]; }
  std::size_t nodes() const { return tree_.size(); }
  std::size_t entries() const { return lines_.size(); }
  /// Entries from the outermost to `node`, without the root. Valid until the next call.
  const std::vector<Entry>& path(Node node);

 private:
  std::vector<EntryInfo> lines_;
  IdTrie tree_{0, kMaxNodes};
  std::unordered_map<StackFormatter::Frame, Entry> frames_;
  std::unordered_map<std::string, Entry> names_;
  std::vector<Entry> path_;
  std::string scratch_;
};

}  // namespace gpuprof::exporter
