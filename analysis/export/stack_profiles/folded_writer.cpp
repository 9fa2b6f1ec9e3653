// SPDX-License-Identifier: Apache-2.0
//
// One line a stack: `CPU;thread;frame;frame NANOSECONDS`.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/stack_profiles/folded_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/export/encoding/text_file.hpp"
#include "analysis/export/stack_profiles/weighted_stacks.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::string_view root_of(WeightedStack::WeightKind what) {
  switch (what) {
    case WeightedStack::WeightKind::kOnCpu:
      return "CPU";
    case WeightedStack::WeightKind::kBlocked:
      return "blocked";
    case WeightedStack::WeightKind::kOperator:
      return "operators";
    case WeightedStack::WeightKind::kGpu:
      return "GPU";
  }
  return {};
}

/// Separators and line ends mean something to readers.
void append_entry(std::string& line, const StackTree::EntryInfo& entry) {
  const std::size_t from = line.size();
  if (entry.line != 0) {
    line += fmt::format("{}({}): {}", entry.file, entry.line, entry.name);
  } else if (!entry.file.empty()) {
    line += fmt::format("{}!{}", entry.file, entry.name);
  } else {
    line += entry.name.empty() ? "(no name)" : entry.name;
  }
  std::replace(line.begin() + static_cast<std::ptrdiff_t>(from), line.end(), ';', ':');
  std::replace_if(
      line.begin() + static_cast<std::ptrdiff_t>(from), line.end(),
      [](char c) { return c == '\n' || c == '\r'; }, ' ');
}

class FoldedWriter {
 public:
  explicit FoldedWriter(EventResolver& shown) : shown_(shown) {}

  support::Result<void> read() {
    return collect_weighted_stacks(
        shown_, tree_,
        [this](WeightedStack::WeightKind what, std::uint32_t tid, std::uint32_t device) {
          return top(what, tid, device);
        },
        [this](const WeightedStack& one) {
          if (one.stack >= ns_.size()) ns_.resize(tree_.nodes());
          ns_[one.stack] += one.ns;
        });
  }

  void write(BufferedWriter& text) {
    std::string line;
    for (StackTree::Node node = 1; node < ns_.size(); ++node) {
      if (ns_[node] == 0) continue;
      line.clear();
      for (const StackTree::Entry entry : tree_.path(node)) {
        if (!line.empty()) line += ';';
        append_entry(line, tree_.line(entry));
      }
      line += fmt::format(" {}\n", ns_[node]);
      text.text(line);
    }
  }

 private:
  StackTree::Node top(WeightedStack::WeightKind what, std::uint32_t tid, std::uint32_t device) {
    const StackTree::Node root = tree_.child(StackTree::kRoot, tree_.intern_name(root_of(what)));
    const std::uint64_t key =
        std::uint64_t{root} << 32 | (what == WeightedStack::WeightKind::kGpu ? device : tid);
    if (const auto found = tops_.find(key); found != tops_.end()) return found->second;
    const std::string name = what == WeightedStack::WeightKind::kGpu
                                 ? fmt::format("device {}", device)
                                 : thread_label(shown_.prescan(), tid);
    return tops_[key] = tree_.child(root, tree_.intern_name(name));
  }

  EventResolver& shown_;
  StackTree tree_;
  std::vector<std::uint64_t> ns_;  // by node
  std::unordered_map<std::uint64_t, StackTree::Node> tops_;
};

}  // namespace

support::Result<WrittenFile> write_folded(const FileRequest& request) {
  GPUPROF_TRY(shown, EventResolver::open(request));
  FoldedWriter folded(*shown);
  GPUPROF_CHECK(folded.read());
  GPUPROF_TRY(bytes, write_text_file(request.path, request.uncompressed,
                                     [&](BufferedWriter& text) { folded.write(text); }));
  return shown->make_written_file("folded", bytes);
}

}  // namespace gpuprof::exporter
