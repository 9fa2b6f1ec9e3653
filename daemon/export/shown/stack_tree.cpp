// SPDX-License-Identifier: Apache-2.0
//
// Nodes by parent and entry.
//
// Context:  daemon (export thread) | cli
#include "daemon/export/shown/stack_tree.hpp"

#include <algorithm>

namespace gpuprof::exporter {

StackTree::StackTree() {
  named("");
  nodes_.push_back({kRoot, 0});
  nodes_.push_back({kRoot, named("(more stacks than are kept)")});
}

StackTree::Entry StackTree::named(std::string_view name) {
  scratch_.assign(name);
  const auto [found, fresh] = names_.try_emplace(scratch_, static_cast<Entry>(lines_.size()));
  if (fresh) lines_.push_back({scratch_, {}, 0});
  return found->second;
}

StackTree::Entry StackTree::frame(StackText::Frame frame, const StackText& stacks) {
  const auto [found, fresh] = frames_.try_emplace(frame, static_cast<Entry>(lines_.size()));
  if (!fresh) return found->second;
  const symbols::DisplayFrame& place = stacks.place(frame);
  Line line;
  line.name = place.name.empty() ? std::string(stacks.name(frame))
                                 : written_as(Texts::kPlain, place.name, 1024);
  line.file = written_as(Texts::kPlain, place.file.empty() ? place.module : place.file, 1024);
  line.line = static_cast<std::uint32_t>(std::max(place.line, 0));
  lines_.push_back(std::move(line));
  return found->second;
}

StackTree::Node StackTree::child(Node parent, Entry entry) {
  if (parent == kMore) return kMore;
  const std::uint64_t key = std::uint64_t{parent} << 32 | entry;
  if (const auto found = children_.find(key); found != children_.end()) return found->second;
  if (is_full()) return kMore;
  const auto node = static_cast<Node>(nodes_.size());
  nodes_.push_back({parent, entry});
  children_.emplace(key, node);
  return node;
}

const std::vector<StackTree::Entry>& StackTree::path(Node node) {
  path_.clear();
  for (; node != kRoot; node = nodes_[node].parent) path_.push_back(nodes_[node].entry);
  std::reverse(path_.begin(), path_.end());
  return path_;
}

}  // namespace gpuprof::exporter
