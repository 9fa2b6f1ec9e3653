// SPDX-License-Identifier: Apache-2.0
//
// Chains of modules out of stacks.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/prescan/module_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace gpuprof::exporter {
namespace {

/// Ids are dense; a spool that claims one beyond this is damaged.
constexpr std::uint32_t kMaxStackId = 4'000'000;

std::uint64_t mixed(std::uint64_t hash, const model::PythonFrame& frame) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  const std::uint64_t where = std::uint64_t{frame.code} << 32 ^
                              static_cast<std::uint32_t>(frame.instr_offset) ^
                              std::uint64_t{frame.flags & model::kPyModule} << 61;
  return (std::rotl(hash, 23) ^ where) * kOdd;
}

template <typename T>
T& at_id(std::vector<T>& all, std::uint32_t id) {
  if (id >= all.size()) all.resize(std::max<std::size_t>(id + 1, all.size() * 2));
  return all[id];
}

}  // namespace

void ModulePaths::define(const model::TorchModule& module) {
  if (module.id > kMaxStackId) return;
  at_id(objects_, module.id) = {module.class_name, of_class_[module.type]++};
}

ModulePaths::Path ModulePaths::enter(Path parent, model::TorchModuleId module) {
  const auto [at, added] =
      by_parent_.try_emplace({parent, module}, static_cast<Path>(paths_.size()));
  if (added) paths_.push_back({parent, module});
  return at->second;
}

void ModulePaths::define(const model::StackDef& stack) {
  if (stack.id > kMaxStackId || levels_.size() + stack.python.size() > kMaxLevels) return;
  const std::size_t first = levels_.size();
  std::uint64_t context = 1;
  Path path = 0;
  for (auto frame = stack.python.rbegin(); frame != stack.python.rend(); ++frame) {
    if ((frame->flags & model::kPyModule) != 0 && levels_.size() - first == kMaxDepth) {
      ++cut_;
      break;
    }
    if ((frame->flags & model::kPyModule) != 0) {
      path = enter(path, frame->code);
      levels_.push_back({path, context});
    }
    context = mixed(context, *frame);
  }
  if (levels_.size() != first) at_id(chains_, stack.id) = {first, levels_.size() - first};
}

std::span<const ModulePaths::Level> ModulePaths::chain(model::StackId stack) const {
  if (stack >= chains_.size()) return {};
  return std::span(levels_).subspan(chains_[stack].at, chains_[stack].count);
}

std::string ModulePaths::name(Path path, const NameTable& names) const {
  const model::TorchModuleId id = paths_[path].module;
  const Object object = id < objects_.size() ? objects_[id] : Object{};
  return fmt::format("{}_{}", object.class_name == 0 ? "Module" : names.text(object.class_name),
                     object.class_name == 0 ? id : object.index);
}

}  // namespace gpuprof::exporter
