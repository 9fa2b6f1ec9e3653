// SPDX-License-Identifier: Apache-2.0
//
// Symbol tables, sorted once, searched by halves.
//
// Context:  daemon | cli
#include "analysis/symbols/elf_symbols.hpp"

#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace gpuprof::symbols {
namespace {

/// How far back a longer function that covers the address is looked for.
constexpr int kLookBack = 16;
/// How far a function written in assembler, without a size, may reach.
constexpr std::uint64_t kUnsizedReach = 256;
constexpr std::uint64_t kMaxFunction = std::uint64_t{1} << 32;

bool names_code(const GElf_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  const unsigned type = GELF_ST_TYPE(symbol.st_info);
  if (type == STT_FUNC || type == STT_GNU_IFUNC) return true;
  // Entry points written in assembler, such as _start.
  return type == STT_NOTYPE && GELF_ST_BIND(symbol.st_info) == STB_GLOBAL &&
         symbol.st_shndx < SHN_LORESERVE;
}

std::uint16_t rank_of(const GElf_Sym& symbol) {
  const unsigned bind = GELF_ST_BIND(symbol.st_info);
  const int by_bind = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;
  return static_cast<std::uint16_t>(by_bind + (GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE ? 4 : 0));
}

/// Looks for `wanted` in a piece of a file. Read, not mapped: the text of a large library would
/// else stay in memory.
bool holds(int fd, std::uint64_t offset, std::uint64_t bytes, std::string_view wanted) {
  constexpr std::size_t kPieceBytes = 1u << 20;
  std::string piece(kPieceBytes, '\0');
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, end - offset));
    const ssize_t got = ::pread(fd, piece.data(), room, static_cast<off_t>(offset));
    if (got <= 0) return false;
    const auto have = static_cast<std::size_t>(got);
    if (std::string_view(piece.data(), have).find(wanted) != std::string_view::npos) return true;
    // The name may lie over the border of two pieces.
    offset += have > wanted.size() ? have - wanted.size() : have;
    if (have <= wanted.size()) break;
  }
  return false;
}

}  // namespace

ElfSymbols::ElfSymbols(ElfFile object, ElfFile debug)
    : object_(std::move(object)), debug_(std::move(debug)) {
  if (object_) read(object_);
  if (debug_) read(debug_);
  finish();
}

void ElfSymbols::read(const ElfFile& file) {
  Elf* const elf = file.elf();
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0 ||
        (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
      continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data != nullptr) add(Text{elf, header.sh_link, file.fd()}, data, header.sh_entsize);
  }
}

void ElfSymbols::add(const Text& text, Elf_Data* data, std::size_t entry_bytes) {
  const auto table = static_cast<std::uint16_t>(texts_.size());
  texts_.push_back(text);
  const auto count = static_cast<int>(data->d_size / entry_bytes);
  GElf_Sym symbol;
  const auto wanted = [&](int i) {
    return gelf_getsym(data, i, &symbol) != nullptr && names_code(symbol) && symbol.st_name != 0 &&
           symbol.st_size < kMaxFunction;
  };
  std::size_t more = 0;
  for (int i = 0; i < count; ++i) more += wanted(i) ? 1 : 0;
  table_.reserve(table_.size() + more);
  for (int i = 0; i < count; ++i)
    if (wanted(i))
      table_.push_back(Entry{symbol.st_value, static_cast<std::uint32_t>(symbol.st_size),
                             symbol.st_name, table, rank_of(symbol)});
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
    if (!covers) continue;
    const Text& text = texts_[entry->table];
    const char* name = elf_strptr(text.elf, text.section, entry->name);
    return name == nullptr ? Symbol{} : Symbol{name, entry->start, entry->size};
  }
  return {};
}

bool ElfSymbols::defines(std::string_view name) const {
  const std::string wanted = '\0' + std::string(name) + '\0';
  return std::any_of(texts_.begin(), texts_.end(), [&](const Text& text) {
    GElf_Shdr header;
    return text.fd >= 0 && gelf_getshdr(elf_getscn(text.elf, text.section), &header) != nullptr &&
           holds(text.fd, header.sh_offset, header.sh_size, wanted);
  });
}

}  // namespace gpuprof::symbols
