// SPDX-License-Identifier: Apache-2.0
//
// Symbol tables, sorted once, searched by halves.
//
// Context:  daemon | cli
#include "daemon/symbols/elf_symbols.hpp"

#include <cxxabi.h>
#include <gelf.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace gpuprof::symbols {
namespace {

/// How far back a longer function that covers the address is looked for.
constexpr int kLookBack = 16;
/// How far a function written in assembler, without a size, may reach.
constexpr std::uint64_t kUnsizedReach = 256;
constexpr std::uint64_t kLongestFunction = std::uint64_t{1} << 32;

bool names_code(const GElf_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  const unsigned type = GELF_ST_TYPE(symbol.st_info);
  if (type == STT_FUNC || type == STT_GNU_IFUNC) return true;
  // Entry points written in assembler, such as _start.
  return type == STT_NOTYPE && GELF_ST_BIND(symbol.st_info) == STB_GLOBAL &&
         symbol.st_shndx < SHN_LORESERVE;
}

std::uint32_t rank_of(const GElf_Sym& symbol) {
  const unsigned bind = GELF_ST_BIND(symbol.st_info);
  const std::uint32_t by_bind = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;
  return by_bind + (GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE ? 4 : 0);
}

}  // namespace

ElfSymbols::ElfSymbols(ElfFile object, ElfFile debug)
    : object_(std::move(object)), debug_(std::move(debug)) {
  if (object_) read(object_.elf());
  if (debug_) read(debug_.elf());
  finish();
}

void ElfSymbols::read(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0 ||
        (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
      continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    const auto count = static_cast<int>(data->d_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr || !names_code(symbol)) continue;
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name == nullptr || name[0] == '\0' || symbol.st_size >= kLongestFunction) continue;
      table_.push_back(Entry{symbol.st_value, static_cast<std::uint32_t>(symbol.st_size),
                             rank_of(symbol), name});
    }
  }
}

void ElfSymbols::finish() {
  std::sort(table_.begin(), table_.end(), [](const Entry& a, const Entry& b) {
    if (a.start != b.start) return a.start < b.start;
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.size > b.size;
  });
  // One name an address: aliases, and functions that both tables list.
  table_.erase(std::unique(table_.begin(), table_.end(),
                           [](const Entry& a, const Entry& b) { return a.start == b.start; }),
               table_.end());
  table_.shrink_to_fit();
}

ElfSymbols::Symbol ElfSymbols::find(std::uint64_t address) const {
  auto after =
      std::upper_bound(table_.begin(), table_.end(), address,
                       [](std::uint64_t at, const Entry& entry) { return at < entry.start; });
  auto entry = after;
  for (int step = 0; step < kLookBack && entry != table_.begin(); ++step) {
    --entry;
    const std::uint64_t into = address - entry->start;
    const bool covers = entry->size != 0 ? into < entry->size : step == 0 && into < kUnsizedReach;
    if (covers) return Symbol{entry->name, entry->start, entry->size};
  }
  return {};
}

bool ElfSymbols::defines(std::string_view name) const {
  return std::any_of(table_.begin(), table_.end(),
                     [name](const Entry& entry) { return name == entry.name; });
}

std::string demangle(const char* name) {
  if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R')) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

}  // namespace gpuprof::symbols
