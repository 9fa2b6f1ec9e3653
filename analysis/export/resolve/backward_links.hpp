// SPDX-License-Identifier: Apache-2.0
//
// Which forward operator an autograd node is the backward of.
//
// Context:  daemon (export thread) | cli
// Owns:     the last operators with a sequence number of each thread, kSlots of them
// Promises: bounded memory; a node without its forward operator in the file has no link
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/export/labels/operator_names.hpp"
#include "analysis/export/prescan/module_paths.hpp"

namespace gpuprof::exporter {

/// The begins of an operator and of its node in the backward pass.
struct BackwardLink {
  std::uint32_t forward_tid, backward_tid;
  std::uint64_t forward_ns, backward_ns;
  model::RangeId forward_id = 0;
};

class BackwardLinks {
 public:
  explicit BackwardLinks(const ModulePaths& paths) : paths_(paths) {}

  struct Match {
    ModulePaths::Path module = 0;      // of the forward operator
    std::optional<BackwardLink> link;  // comes with the range around the node's evaluation
  };
  /// Whether the forward operator of this node has come.
  bool has_forward(const model::Operator& node) const;

  /// Operators in the order they ended, nodes behind their forward operators
  /// (backward_reorder.hpp).
  ///
  /// @param drawn_ns  Where the file lets it begin.
  /// @param outermost Nothing but steps is drawn around it: the viewer finds no others' nodes.
  Match add(const model::Operator& op, OpKind kind, std::uint64_t drawn_ns, bool outermost);

 private:
  static constexpr std::size_t kSlots = 65'536;
  static constexpr std::size_t kMaxThreads = 64;
  static constexpr std::size_t kMaxPending = 4096;
  struct Slot {
    std::int64_t sequence = -1;
    std::uint64_t start_ns = 0;
    ModulePaths::Path module = 0;
    model::RangeId id = 0;
  };
  struct Pending {
    ModulePaths::Path module;
    BackwardLink link;
  };

  void remember(const model::Operator& op, std::uint64_t drawn_ns);
  Match node(const model::Operator& op, std::uint64_t drawn_ns);

  const ModulePaths& paths_;
  std::unordered_map<std::uint32_t, std::vector<Slot>> forward_;  // by thread
  std::unordered_map<model::RangeId, Pending> pending_;           // by evaluation
};

}  // namespace gpuprof::exporter
