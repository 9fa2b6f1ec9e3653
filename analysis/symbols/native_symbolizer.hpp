// SPDX-License-Identifier: Apache-2.0
//
// Names of native addresses, and what they are to the merge.
//
// Context:  daemon | cli
// Owns:     a cache of names and a share in the symbol tables of the modules seen, both bounded
// Promises: never fails: what has no name is `module+0x…`, what has no module is an address
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>

#include "analysis/symbols/display_frame.hpp"
#include "analysis/symbols/merge_stack.hpp"
#include "analysis/symbols/module_map.hpp"
#include "analysis/symbols/native_lines.hpp"
#include "analysis/symbols/symbol_cache.hpp"

namespace gpuprof::symbols {

struct SymbolizerOptions {
  bool native_lines = false;        // read DWARF; slow for large objects
  bool debuginfod = false;          // fetch missing DWARF from DEBUGINFOD_URLS
  bool interpreter_frames = false;  // show the interpreter's own native frames too
  std::uint64_t max_symbols = 6'000'000;
  std::size_t max_names = 200'000;
  std::size_t max_frames = 200'000;  // display frames kept for stacks already named
  std::uint64_t max_stack_bytes = 256u << 20;
};

struct NativeSymbol {
  DisplayFrame frame;
  NativeRole role = NativeRole::kVisible;
  bool tail_call = false;  // an opcode handler of an interpreter that has no eval function
};

class NativeSymbolizer {
 public:
  explicit NativeSymbolizer(const SymbolizerOptions& options)
      : options_(options), lines_(options.debuginfod) {}

  /// The living process behind the modules, for files that are gone; 0: none.
  void set_pid(std::uint32_t pid) { pid_ = pid; }

  /// @param module Null if the address belongs to none. Reference valid until the next call.
  const NativeSymbol& find(const MappedModule* module, std::uint64_t pc);

 private:
  struct Loaded {
    std::shared_ptr<const SymbolCache::Table> table;
    bool only_python = false;  // nothing but the interpreter is in it
    std::uint64_t last_use = 0;
  };
  Loaded& load(const MappedModule& module);
  void evict();
  NativeSymbol make(const MappedModule* module, std::uint64_t pc);
  NativeRole role_of(const Loaded& loaded, const char* name) const;

  SymbolizerOptions options_;
  NativeLines lines_;
  std::uint32_t pid_ = 0;
  std::uint64_t uses_ = 0, symbols_held_ = 0;
  std::unordered_map<const MappedModule*, Loaded> loaded_;
  struct Key {
    const MappedModule* module;
    std::uint64_t pc;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, NativeSymbol, Hash> names_;
};

}  // namespace gpuprof::symbols
