// SPDX-License-Identifier: Apache-2.0
//
// The trees of the flame graph, with what is too small added up.
//
// Context:  cli
#include <fmt/format.h>

#include <numeric>
#include <unordered_map>

#include "analysis/messages/page.hpp"
#include "analysis/messages/page_views.hpp"
#include "analysis/report/page/sections.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::page {
namespace {

struct PrunedNode {
  std::uint32_t name = 0, parent = 0;
  FlameKind kind = FlameKind::kRoot;
  std::uint64_t self = 0, blocked = 0;
};

/// The nodes with the most, each after its parent; what the others have, in one node below the
/// nearest that is kept.
class PrunedTree {
 public:
  PrunedTree(const FlameTree& tree, std::size_t limit) {
    const std::vector<FlameNode>& nodes = tree.nodes();
    const std::vector<bool> kept = heaviest(nodes, limit);
    std::vector<std::uint32_t> place(nodes.size(), 0);  // in lines, of itself or what it went into
    std::unordered_map<std::uint32_t, std::uint32_t> rests;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const FlameNode& node = nodes[i];
      const std::uint32_t above = i == 0 ? 0 : place[node.parent];
      if (kept[i]) {
        place[i] = add(node.name, above, node.kind);
      } else if (i != 0 && !kept[node.parent]) {
        place[i] = above;
      } else {
        const auto [at, made] = rests.try_emplace(above, 0);
        if (made) at->second = add(messages::page_views::kSmallerFrames, above, FlameKind::kOther);
        place[i] = at->second;
      }
      lines[place[i]].self += node.self;
      lines[place[i]].blocked += node.self_blocked;
      left_out += kept[i] ? 0 : 1;
    }
  }

  std::vector<PrunedNode> lines;
  std::vector<std::string> strings;
  std::size_t left_out = 0;

 private:
  static std::vector<bool> heaviest(const std::vector<FlameNode>& nodes, std::size_t limit) {
    std::vector<bool> kept(nodes.size(), true);
    if (nodes.size() <= limit) return kept;
    std::vector<std::uint32_t> order(nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    // Parents have no less than their children, and lower indexes: they are kept with them.
    std::stable_sort(order.begin(), order.end(), [&nodes](std::uint32_t a, std::uint32_t b) {
      return nodes[a].total + nodes[a].total_blocked > nodes[b].total + nodes[b].total_blocked;
    });
    for (std::size_t i = limit; i < order.size(); ++i) kept[order[i]] = false;
    kept[0] = true;
    return kept;
  }
  std::uint32_t add(const std::string& name, std::uint32_t parent, FlameKind kind) {
    const auto [at, made] = names_.try_emplace(name, static_cast<std::uint32_t>(strings.size()));
    if (made) strings.push_back(name);
    lines.push_back({at->second, parent, kind, 0, 0});
    return static_cast<std::uint32_t>(lines.size() - 1);
  }

  std::unordered_map<std::string, std::uint32_t> names_;
};

template <typename Value>
void write_column(PageJson& json, std::string_view key, const std::vector<PrunedNode>& lines,
                  const Value& value) {
  json.key(key).array();
  for (const PrunedNode& line : lines) value(line);
  json.end_array();
}

struct Titles {
  std::string_view title, note, blocked_title, blocked_note;
};

void write_tree(SectionContext& part, const FlameTree& tree, bool is_time, const Titles& titles) {
  if (tree.empty()) return;
  const PrunedTree pruned(tree, part.limits.flame_nodes);
  PageJson& json = part.json;
  const auto weight = [&json, is_time](std::uint64_t value) {
    if (is_time)
      json.us(value);
    else
      json.number(value);
  };
  json.object().key("title").text(titles.title).key("note").text(titles.note);
  json.key("unit").text(is_time ? "us" : "count").key("strings").texts(pruned.strings);
  write_column(json, "name", pruned.lines,
               [&json](const PrunedNode& line) { json.number(line.name); });
  write_column(json, "parent", pruned.lines,
               [&json](const PrunedNode& line) { json.number(line.parent); });
  write_column(json, "kind", pruned.lines, [&json](const PrunedNode& line) {
    json.number(static_cast<std::uint32_t>(line.kind));
  });
  write_column(json, "self", pruned.lines,
               [&weight](const PrunedNode& line) { weight(line.self); });
  if (tree.nodes().front().total_blocked > 0) {
    write_column(json, "blocked", pruned.lines,
                 [&weight](const PrunedNode& line) { weight(line.blocked); });
    json.key("blocked_title").text(titles.blocked_title);
    json.key("blocked_note").text(titles.blocked_note);
  }
  json.end_object();
  if (pruned.left_out > 0)
    part.left_out.push_back(
        fmt::format(messages::page::kFramesLeftOut, titles.title,
                    support::count_with_unit(pruned.left_out, "small frame", "small frames")));
}

}  // namespace

void write_flames(SectionContext& part) {
  const Flames& flames = part.analysis.flames;
  part.json.array();
  write_tree(
      part, flames.samples, flames.samples_are_ns,
      {"CPU samples",
       flames.samples_are_ns ? messages::page_views::kCpuTime : messages::page_views::kCpuSamples,
       "Off-CPU samples", messages::page_views::kOffCpuSamples});
  write_tree(part, flames.gpu, true, {"GPU time", messages::page_views::kGpuTime, "", ""});
  part.json.end_array();
}

}  // namespace gpuprof::report::page
