// SPDX-License-Identifier: Apache-2.0
//
// Address → name, with tables loaded on first use and given up when there are too many.
//
// Context:  daemon | cli
#include "analysis/symbols/native_symbolizer.hpp"

#include <stdio.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "analysis/symbols/perf_map_registry.hpp"
#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/jit_code.hpp"
#include "support/text/demangle.hpp"

namespace gpuprof::symbols {
namespace {

constexpr std::string_view kEval = "_PyEval_EvalFrameDefault";
constexpr std::string_view kTrampoline = "py::";
constexpr std::string_view kTailCall = "_TAIL_CALL_";

std::string address_text(std::uint64_t value) {
  std::array<char, 24> text;
  snprintf(text.data(), text.size(), "0x%lx", value);
  return text.data();
}

bool is_python_name(std::string_view name) {
  return name.starts_with("Py") || name.starts_with("_Py");
}

/// The process whose code it is (target_messages.cpp writes it behind the path); 0: not told.
std::uint32_t owner_of(const MappedModule& module) {
  const std::string_view number =
      std::string_view(module.path)
          .substr(std::min(module.path.size(), std::string_view(base::kJitCodePath).size() + 1));
  std::uint32_t pid = 0;
  std::from_chars(number.data(), number.data() + number.size(), pid);
  return pid;
}

/// One name for all that has none: addresses differ from run to run.
NativeSymbol generated(const MappedModule& module, std::uint64_t pc,
                       const SymbolizerOptions& options) {
  NativeSymbol out;
  out.frame.kind = FrameKind::kNative;
  if (const auto map = PerfMapRegistry::shared().find(owner_of(module)); map != nullptr)
    out.frame.name = map->name_at(pc);
  // CPython's trampolines: the frame of the function itself is beside it.
  if (out.frame.name.starts_with(kTrampoline) && !options.interpreter_frames)
    out.role = NativeRole::kInterpreter;
  if (out.frame.name.empty()) out.frame.name = base::kJitCodePath;
  return out;
}

}  // namespace

std::size_t NativeSymbolizer::Hash::operator()(const Key& key) const {
  return base::hash_step(reinterpret_cast<std::uintptr_t>(key.module), key.pc);
}

const NativeSymbol& NativeSymbolizer::find(const MappedModule* module, std::uint64_t pc) {
  const Key key{module, pc};
  if (const auto known = names_.find(key); known != names_.end()) return known->second;
  if (names_.size() >= options_.max_names) names_.clear();
  return names_.emplace(key, make(module, pc)).first->second;
}

NativeSymbol NativeSymbolizer::make(const MappedModule* module, std::uint64_t pc) {
  NativeSymbol out;
  if (module == nullptr) {
    out.frame.name = address_text(pc);
    return out;
  }
  if (module->path.starts_with(base::kJitCodePath)) return generated(*module, pc, options_);
  const Loaded& loaded = load(*module);
  const std::uint64_t address = pc - module->load_bias;
  const ElfSymbols& symbols = loaded.table->symbols;
  const ElfSymbols::Symbol symbol = symbols.find(address);
  out.role = role_of(loaded, symbol.name);
  out.tail_call = symbol.name != nullptr && std::string_view(symbol.name).starts_with(kTailCall);
  out.frame.kind = FrameKind::kNative;
  out.frame.module = module->name;
  out.frame.name = symbol.name != nullptr ? support::demangle(symbol.name)
                                          : module->name + "+" + address_text(address);
  if (options_.native_lines && symbols.object() && symbol.name != nullptr) {
    NativeLines::Place place = lines_.find(symbols.object().path(), address);
    out.frame.file = std::move(place.file);
    out.frame.line = place.line;
  }
  return out;
}

NativeRole NativeSymbolizer::role_of(const Loaded& loaded, const char* name) const {
  if (!loaded.table->interpreter) return NativeRole::kVisible;
  if (name == nullptr) return NativeRole::kInterpreterUnnamed;
  const std::string_view text(name);
  if (text.starts_with(kEval) || text.starts_with(kTailCall)) return NativeRole::kEval;
  // A program that was linked with the interpreter has code of its own in the same object.
  const bool internal = loaded.only_python || is_python_name(text);
  return internal && !options_.interpreter_frames ? NativeRole::kInterpreter : NativeRole::kVisible;
}

NativeSymbolizer::Loaded& NativeSymbolizer::load(const MappedModule& module) {
  auto [at, added] = loaded_.try_emplace(&module);
  Loaded& loaded = at->second;
  loaded.last_use = ++uses_;
  if (loaded.table != nullptr) return loaded;
  loaded.table = SymbolCache::shared().get(module, pid_);
  loaded.only_python = module.name.find("python") != std::string::npos;
  symbols_held_ += loaded.table->symbols.size();
  if (symbols_held_ > options_.max_symbols) evict();
  return loaded;
}

void NativeSymbolizer::evict() {
  while (symbols_held_ > options_.max_symbols) {
    Loaded* oldest = nullptr;
    for (auto& [module, loaded] : loaded_)
      if (loaded.table != nullptr && loaded.last_use != uses_ &&
          (oldest == nullptr || loaded.last_use < oldest->last_use))
        oldest = &loaded;
    if (oldest == nullptr) return;
    symbols_held_ -= oldest->table->symbols.size();
    oldest->table.reset();
  }
}

}  // namespace gpuprof::symbols
