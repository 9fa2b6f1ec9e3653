// SPDX-License-Identifier: Apache-2.0
//
// Symbol tables, read on first use and given up when there are too many.
//
// Context:  daemon (any export thread) | cli
#include "analysis/symbols/symbol_cache.hpp"

#include <algorithm>

namespace gpuprof::symbols {
namespace {

// Each keeps its file open.
constexpr std::size_t kMaxTables = 256;
constexpr std::string_view kEvaluator = "_PyEval_EvalFrameDefault";

std::shared_ptr<const SymbolCache::Table> read_table(const MappedModule& module,
                                                     std::uint32_t pid) {
  auto table = std::make_shared<SymbolCache::Table>();
  ElfFile object = open_module(module, pid);
  ElfFile debug = open_debug_file(object ? object.build_id() : module.build_id);
  table->symbols = ElfSymbols(std::move(object), std::move(debug));
  table->interpreter = table->symbols.defines(kEvaluator);
  return table;
}

}  // namespace

SymbolCache& SymbolCache::shared() {
  static SymbolCache store;
  return store;
}

std::shared_ptr<const SymbolCache::Table> SymbolCache::get(const MappedModule& module,
                                                           std::uint32_t pid) {
  if (module.build_id.empty()) return read_table(module, pid);
  const std::lock_guard lock(mutex_);
  const std::string key = module.path + '\0' + module.build_id;
  if (const auto known = kept_.find(key); known != kept_.end()) {
    known->second.last_use = ++uses_;
    return known->second.table;
  }
  std::shared_ptr<const Table> table = read_table(module, pid);
  // A file that is not there may be, for the next process of the same image.
  if (!table->symbols.object()) return table;
  kept_[key] = Kept{table, ++uses_};
  held_ += table->symbols.size();
  evict();
  return table;
}

std::uint64_t SymbolCache::cached_symbols() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

void SymbolCache::evict() {
  while (held_ > max_symbols_ || kept_.size() > kMaxTables) {
    const auto oldest = std::min_element(kept_.begin(), kept_.end(), [](auto& a, auto& b) {
      return a.second.last_use < b.second.last_use;
    });
    held_ -= oldest->second.table->symbols.size();
    kept_.erase(oldest);
  }
}

}  // namespace gpuprof::symbols
