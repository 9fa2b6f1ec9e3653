// SPDX-License-Identifier: Apache-2.0
//
// Modules by address and time.
//
// Context:  daemon | cli
#include "analysis/symbols/module_map.hpp"

#include <algorithm>

#include "gpuprof/base/jit_code.hpp"

namespace gpuprof::symbols {
namespace {

/// A process that maps more than this is not told apart any further.
constexpr std::size_t kMaxModules = 65536;

std::string display_name(std::string_view path) {
  if (path.starts_with("linux-vdso") || path == "[vdso]") return "[vdso]";
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

bool is_generated(const MappedModule& module) {
  return module.path.starts_with(base::kJitCodePath);
}

}  // namespace

void ModuleMap::add(const model::Module& module) {
  if (module.end <= module.start || modules_.size() >= kMaxModules) return;
  auto [at, last] = by_start_.equal_range(module.start);
  for (; at != last; ++at) {
    MappedModule& known = *at->second;
    const bool same = known.load_bias == module.load_bias && known.build_id == module.build_id &&
                      known.path == module.path && known.gone_ns == kStillMapped;
    if (!same) continue;
    known.end = std::max(known.end, module.end);
    longest_ = std::max(longest_, known.end - known.start);
    return;
  }
  modules_.push_back(MappedModule{module.load_bias, module.start, module.end, module.seen_ns,
                                  kStillMapped, std::string(module.build_id),
                                  std::string(module.path), display_name(module.path)});
  by_start_.emplace(module.start, &modules_.back());
  longest_ = std::max(longest_, module.end - module.start);
}

void ModuleMap::remove(const model::ModuleUnload& gone) {
  for (auto [at, last] = by_start_.equal_range(gone.start); at != last; ++at) {
    MappedModule& module = *at->second;
    if (module.load_bias == gone.load_bias && module.gone_ns == kStillMapped)
      module.gone_ns = gone.unloaded_ns;
  }
}

ModuleMap::Match ModuleMap::find(std::uint64_t pc, std::uint64_t ts_ns) const {
  Match hit;
  unsigned covering = 0;
  bool alive = false;
  for (auto at = by_start_.upper_bound(pc); at != by_start_.begin();) {
    --at;
    const MappedModule& module = *at->second;
    if (pc - module.start >= longest_) break;
    if (pc >= module.end) continue;
    // Of two ranges of generated code nothing tells one from the other.
    covering += hit.module != nullptr && is_generated(module) && is_generated(*hit.module) ? 0 : 1;
    const bool alive_then = module.seen_ns <= ts_ns && ts_ns < module.gone_ns;
    const bool later = hit.module == nullptr || module.seen_ns > hit.module->seen_ns;
    // Alive at that time beats anything; among equals the one seen last. At kStillMapped no end
    // lies after it, so the latest wins.
    if (hit.module == nullptr || (alive_then && !alive) || (alive_then == alive && later)) {
      hit.module = &module;
      alive = alive_then;
    }
  }
  hit.ambiguous = covering > 1;
  return hit;
}

}  // namespace gpuprof::symbols
