// SPDX-License-Identifier: Apache-2.0
//
// Which nn.Module calls a stack lies in.
//
// Context:  daemon (export thread) | cli
// Owns:     the chain of each distinct stack, at most kMaxLevels of them
// Promises: equal ways into a module have equal numbers, whatever the order of events
// Not here: from when to when a call lasted (module_calls.hpp)
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/export/labels/name_table.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::exporter {

class ModulePaths {
 public:
  /// A way into a module: the modules around it and itself; 0: none.
  using Path = std::uint32_t;
  /// One module call a stack lies in.
  struct Level {
    Path path;
    std::uint64_t context;  // hash of the frames further out: where it was called

    bool operator==(const Level&) const = default;
  };
  static constexpr std::size_t kMaxLevels = 4u << 20;
  /// The plugin's processes pickle the tree of modules and operators, which goes 196 levels deep.
  /// Modules of the forward pass are found around those of the backward pass again.
  static constexpr std::size_t kMaxDepth = 40;

  void define(const model::TorchModule& module);
  void define(const model::StackDef& stack);

  /// Stacks of which the calls below kMaxDepth others are left out.
  std::uint64_t truncated_stacks() const { return cut_; }

  bool empty() const { return paths_.size() == 1; }
  /// Outermost first.
  std::span<const Level> chain(model::StackId stack) const;
  Path parent(Path path) const { return paths_[path].parent; }
  model::TorchModuleId module(Path path) const { return paths_[path].module; }
  /// `Class_k`, k counting the objects of the class, from 0 for each class of that name; escaped.
  std::string name(Path path, const NameTable& names) const;

 private:
  struct Node {
    Path parent;
    model::TorchModuleId module;
  };
  struct Object {
    model::StringId class_name = 0;
    std::uint32_t index = 0;
  };
  struct Chain {
    std::size_t at = 0, count = 0;
  };

  Path enter(Path parent, model::TorchModuleId module);

  std::vector<Node> paths_{Node{}};
  std::map<std::pair<Path, model::TorchModuleId>, Path> by_parent_;
  std::vector<Object> objects_;
  std::map<std::uint64_t, std::uint32_t> of_class_;  // by address of the class
  std::vector<Level> levels_;
  std::vector<Chain> chains_;
  std::uint64_t cut_ = 0;
};

}  // namespace gpuprof::exporter
