// SPDX-License-Identifier: Apache-2.0
//
// Symbol tables by file, read once for all files a daemon writes.
//
// Context:  daemon (any export thread) | cli
// Owns:     the tables used last, up to a number of symbols
// Promises: a table lives as long as somebody holds it; a file without a build id is never shared,
//           for nothing tells whether it is still the same
//
// Why: every window of a run is a file of its own with the same modules, and the table of a large
// library takes longer to read than a window to write.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "analysis/symbols/elf_symbols.hpp"
#include "analysis/symbols/module_map.hpp"

namespace gpuprof::symbols {

class SymbolCache {
 public:
  struct Table {
    ElfSymbols symbols;
    bool interpreter = false;  // it evaluates Python's byte code
  };

  /// @param max_symbols What is kept when nobody holds it.
  explicit SymbolCache(std::uint64_t max_symbols = 2'000'000) : max_symbols_(max_symbols) {}
  /// The process's own.
  static SymbolCache& shared();

  /// Never null; the table is empty if the file cannot be read or is another one now.
  std::shared_ptr<const Table> get(const MappedModule& module, std::uint32_t pid);

  /// Symbols kept now.
  std::uint64_t cached_symbols() const;

 private:
  struct Kept {
    std::shared_ptr<const Table> table;
    std::uint64_t last_use = 0;
  };
  void evict();

  const std::uint64_t max_symbols_;
  mutable std::mutex mutex_;
  std::map<std::string, Kept> kept_;
  std::uint64_t uses_ = 0, held_ = 0;
};

}  // namespace gpuprof::symbols
