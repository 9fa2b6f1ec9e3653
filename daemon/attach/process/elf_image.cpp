// SPDX-License-Identifier: Apache-2.0
//
// A loaded ELF object, read where it lies in memory: exported symbols, build id.
//
// Context:  daemon | cli
#include "daemon/attach/process/elf_image.hpp"

#include <elf.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include "daemon/attach/arch/arch.hpp"

namespace gpuprof::attach {
namespace {

constexpr unsigned kMaxHeaders = 64;
constexpr std::uint64_t kMaxNotes = 64 << 10;
constexpr std::uint64_t kMaxDynamic = 4096;  // entries
constexpr std::uint32_t kMaxChain = 4096;    // symbols of one bucket

std::uint32_t gnu_hash(const std::string& name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

constexpr std::uint64_t rounded(std::uint64_t bytes) { return (bytes + 3) & ~std::uint64_t{3}; }

}  // namespace

std::optional<ElfImage> ElfImage::at(std::uint64_t base, MemoryReader reader) {
  ElfImage image(std::move(reader));
  if (!image.read_headers(base)) return std::nullopt;
  return image;
}

bool ElfImage::read_headers(std::uint64_t base) {
  base_ = base;
  Elf64_Ehdr head;
  if (!read(base, head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != arch::kElfMachine ||
      head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum == 0 || head.e_phnum > kMaxHeaders)
    return false;
  std::vector<Elf64_Phdr> parts(head.e_phnum);
  if (!reader_(base + head.e_phoff, parts.data(), parts.size() * sizeof(Elf64_Phdr))) return false;
  const auto first = std::find_if(parts.begin(), parts.end(),
                                  [](const Elf64_Phdr& part) { return part.p_type == PT_LOAD; });
  if (first == parts.end()) return false;
  bias_ = base - (first->p_vaddr & ~std::uint64_t{4095});
  for (const Elf64_Phdr& part : parts)
    if (part.p_type == PT_LOAD) end_ = std::max(end_, bias_ + part.p_vaddr + part.p_memsz);
  for (const Elf64_Phdr& part : parts) {
    if (part.p_type == PT_DYNAMIC) read_dynamic(bias_ + part.p_vaddr, part.p_memsz);
    if (part.p_type == PT_NOTE) read_notes(bias_ + part.p_vaddr, part.p_memsz);
  }
  return true;
}

// glibc adds the bias to these pointers in place, other loaders do not.
std::uint64_t ElfImage::placed(std::uint64_t pointer) const {
  return pointer >= base_ && pointer < end_ ? pointer : bias_ + pointer;
}

void ElfImage::read_dynamic(std::uint64_t address, std::uint64_t bytes) {
  bytes = std::min(bytes, kMaxDynamic * sizeof(Elf64_Dyn));
  for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= bytes; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    if (!read(address + at, entry) || entry.d_tag == DT_NULL) return;
    if (entry.d_tag == DT_SYMTAB) symbols_ = placed(entry.d_un.d_ptr);
    if (entry.d_tag == DT_STRTAB) texts_ = placed(entry.d_un.d_ptr);
    if (entry.d_tag == DT_GNU_HASH) hash_ = placed(entry.d_un.d_ptr);
  }
}

void ElfImage::read_notes(std::uint64_t address, std::uint64_t bytes) {
  if (bytes > kMaxNotes || bytes < sizeof(Elf64_Nhdr)) return;
  std::vector<char> notes(bytes);
  if (!reader_(address, notes.data(), notes.size())) return;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
    Elf64_Nhdr note;
    memcpy(&note, notes.data() + at, sizeof note);
    const std::uint64_t name = at + sizeof note, value = name + rounded(note.n_namesz);
    if (value + note.n_descsz > bytes) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(notes.data() + name, "GNU", 4) == 0)
      build_id_.assign(notes.data() + value, note.n_descsz);
    at = value + rounded(note.n_descsz);
  }
}

bool ElfImage::named(std::uint32_t text, const std::string& name) const {
  std::string found(name.size() + 1, '\1');
  return reader_(texts_ + text, found.data(), found.size()) &&
         found.compare(0, name.size(), name) == 0 && found.back() == '\0';
}

std::optional<std::uint64_t> ElfImage::symbol(const std::string& name) const {
  const auto found = function(name);
  return found ? std::optional(found->start) : std::nullopt;
}

std::optional<ElfImage::Function> ElfImage::function(const std::string& name) const {
  struct {
    std::uint32_t buckets, first, bloom_words, bloom_shift;
  } table;
  if (hash_ == 0 || symbols_ == 0 || texts_ == 0 || !read(hash_, table) || table.buckets == 0)
    return std::nullopt;
  const std::uint64_t buckets = hash_ + sizeof table + std::uint64_t{table.bloom_words} * 8;
  const std::uint64_t chains = buckets + std::uint64_t{table.buckets} * 4;
  const std::uint32_t wanted = gnu_hash(name);
  std::uint32_t index = 0, hash = 0;
  if (!read(buckets + std::uint64_t{wanted % table.buckets} * 4, index) || index < table.first)
    return std::nullopt;
  for (std::uint32_t looked = 0; looked < kMaxChain; ++looked, ++index) {
    if (!read(chains + std::uint64_t{index - table.first} * 4, hash)) return std::nullopt;
    Elf64_Sym symbol;
    if ((hash | 1) == (wanted | 1) && read(symbols_ + index * sizeof symbol, symbol) &&
        symbol.st_shndx != SHN_UNDEF && named(symbol.st_name, name))
      return Function{bias_ + symbol.st_value, symbol.st_size};
    if ((hash & 1) != 0) break;
  }
  return std::nullopt;
}

}  // namespace gpuprof::attach
