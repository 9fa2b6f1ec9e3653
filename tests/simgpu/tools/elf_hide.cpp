// SPDX-License-Identifier: Apache-2.0
//
// Renames dynamic symbols in place: the first letter becomes '~'. Lookup then finds the old hash
// but another name.
//
// Context:  tools
// Owns:     nothing
// Promises: see elf_hide.hpp
// Not here: which symbols
#include "tools/elf_hide.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace gpusim {
namespace {

struct Tables {
  const Elf64_Sym* symbols;
  std::size_t count;
  char* strings;
  std::size_t strings_size;
};

/// Finds .dynsym and its strings. `image` is a whole, trusted file from our own build.
bool find_tables(std::vector<char>& image, Tables& t) {
  if (image.size() < sizeof(Elf64_Ehdr) || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0)
    return false;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  if (header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr) > image.size()) return false;
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr& strings = sections[sections[i].sh_link];
    t.symbols = reinterpret_cast<const Elf64_Sym*>(image.data() + sections[i].sh_offset);
    t.count = sections[i].sh_size / sizeof(Elf64_Sym);
    t.strings = image.data() + strings.sh_offset;
    t.strings_size = strings.sh_size;
    return true;
  }
  return false;
}

bool hide(const Tables& t, const std::string& symbol) {
  for (std::size_t i = 1; i < t.count; ++i) {
    const Elf64_Sym& s = t.symbols[i];
    if (s.st_shndx == SHN_UNDEF || s.st_name >= t.strings_size || symbol != t.strings + s.st_name)
      continue;
    t.strings[s.st_name] = '~';
    return true;
  }
  return false;
}

}  // namespace

std::string hide_symbols(const std::string& from, const std::string& to,
                         const std::vector<std::string>& symbols, std::size_t required) {
  std::ifstream in(from, std::ios::binary);
  std::vector<char> image{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  Tables tables{};
  if (!in || !find_tables(image, tables)) return "cannot read '" + from + "' as a shared object";
  for (std::size_t i = 0; i < symbols.size(); ++i)
    if (!hide(tables, symbols[i]) && i < required)
      return "'" + from + "' does not export '" + symbols[i] + "'";
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  out.write(image.data(), static_cast<std::streamsize>(image.size()));
  out.close();
  return out ? std::string() : "cannot write '" + to + "'";
}

}  // namespace gpusim
