// SPDX-License-Identifier: Apache-2.0
//
// Nodes by parent and entry.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/resolve/stack_tree.hpp"

#include <algorithm>

namespace gpuprof::exporter {

StackTree::StackTree() {
  intern_name("");
  tree_.child(kRoot, intern_name("(more stacks than are kept)"));
}

StackTree::Entry StackTree::intern_name(std::string_view name) {
  scratch_.assign(name);
  const auto [found, fresh] = names_.try_emplace(scratch_, static_cast<Entry>(lines_.size()));
  if (fresh) lines_.push_back({scratch_, {}, 0});
  return found->second;
}

StackTree::Entry StackTree::frame(StackFormatter::Frame frame, const StackFormatter& stacks) {
  const auto [found, fresh] = frames_.try_emplace(frame, static_cast<Entry>(lines_.size()));
  if (!fresh) return found->second;
  const symbols::DisplayFrame& place = stacks.source_location(frame);
  EntryInfo line;
  line.name = place.name.empty() ? std::string(stacks.name(frame))
                                 : encode_text(TextEncoding::kUtf8, place.name, 1024);
  line.file =
      encode_text(TextEncoding::kUtf8, place.file.empty() ? place.module : place.file, 1024);
  line.line = static_cast<std::uint32_t>(std::max(place.line, 0));
  lines_.push_back(std::move(line));
  return found->second;
}

StackTree::Node StackTree::child(Node parent, Entry entry) {
  if (parent == kOverflow) return kOverflow;
  const Node node = tree_.child(parent, entry);
  return node == IdTrie::kNone ? kOverflow : node;
}

StackTree::Node StackTree::add_stack(Node top, const std::vector<StackFormatter::Frame>& frames,
                                     const StackFormatter& stacks) {
  for (auto one = frames.rbegin(); one != frames.rend(); ++one)
    top = child(top, frame(*one, stacks));
  return top;
}

const std::vector<StackTree::Entry>& StackTree::path(Node node) {
  path_.clear();
  for (; node != kRoot; node = parent(node)) path_.push_back(entry(node));
  std::reverse(path_.begin(), path_.end());
  return path_;
}

}  // namespace gpuprof::exporter
