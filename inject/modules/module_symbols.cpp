// SPDX-License-Identifier: Apache-2.0
//
// Hash-table lookup in a mapped module (DT_GNU_HASH, else DT_HASH).
//
// Context:  worker
#include "inject/modules/module_symbols.hpp"

#include <elf.h>

#include <cstring>

namespace gpuprof::modules {
namespace {

// Longer chains than any hash makes are those of a table that leads in circles.
constexpr std::uint32_t kMaxChain = 65536;
constexpr std::uint64_t kWord = sizeof(std::uint32_t);

const ElfW(Phdr) * dynamic_of(const dl_phdr_info& module) {
  for (int i = 0; i < module.dlpi_phnum; ++i)
    if (module.dlpi_phdr[i].p_type == PT_DYNAMIC) return &module.dlpi_phdr[i];
  return nullptr;
}

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

std::uint32_t sysv_hash_of(const char* name) {
  std::uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    const std::uint32_t high = hash & 0xf0000000u;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

}  // namespace

ModuleSymbols::ModuleSymbols(const dl_phdr_info& module)
    : bias_(module.dlpi_addr), parts_(module.dlpi_phdr), part_count_(module.dlpi_phnum) {
  const ElfW(Phdr)* dynamic = dynamic_of(module);
  if (dynamic == nullptr) return;
  // glibc relocates these pointers in place, other loaders and the vdso do not.
  const auto place = [this](std::uint64_t at) { return at < bias_ ? at + bias_ : at; };
  ElfW(Dyn) entry;
  for (std::uint64_t at = 0; at + sizeof entry <= dynamic->p_memsz; at += sizeof entry) {
    if (!read(bias_ + dynamic->p_vaddr + at, &entry) || entry.d_tag == DT_NULL) return;
    const std::uint64_t table = place(entry.d_un.d_ptr);
    if (entry.d_tag == DT_SYMTAB) symbols_ = table;
    if (entry.d_tag == DT_STRTAB) strings_ = table;
    if (entry.d_tag == DT_GNU_HASH) gnu_hash_ = table;
    if (entry.d_tag == DT_HASH) sysv_hash_ = table;
    if (entry.d_tag == DT_SONAME) name_ = entry.d_un.d_val;
  }
}

std::uint64_t ModuleSymbols::bytes_mapped_at(std::uint64_t at) const {
  for (std::uint32_t i = 0; i < part_count_; ++i) {
    const std::uint64_t into = at - (bias_ + parts_[i].p_vaddr);
    if (parts_[i].p_type == PT_LOAD && into < parts_[i].p_memsz) return parts_[i].p_memsz - into;
  }
  return 0;
}

template <typename T>
bool ModuleSymbols::read(std::uint64_t at, T* to) const {
  if (bytes_mapped_at(at) < sizeof(T)) return false;
  std::memcpy(to, reinterpret_cast<const void*>(at), sizeof(T));
  return true;
}

bool ModuleSymbols::look_up(const char* name, ElfW(Sym) * symbol) const {
  if (symbols_ == 0 || strings_ == 0) return false;
  std::uint32_t index = 0;
  if (gnu_hash_ != 0)
    index = gnu_lookup(name);
  else if (sysv_hash_ != 0)
    index = sysv_lookup(name);
  return index != 0 && read(symbols_ + std::uint64_t{index} * sizeof *symbol, symbol);
}

std::uint64_t ModuleSymbols::find(const char* name) const {
  std::uint64_t bytes = 0;
  return find(name, &bytes);
}

std::uint64_t ModuleSymbols::find(const char* name, std::uint64_t* bytes) const {
  ElfW(Sym) symbol;
  if (!look_up(name, &symbol)) return 0;
  *bytes = symbol.st_size;
  // A non-PIE executable has bias 0 and absolute values: the same sum.
  return bias_ + symbol.st_value;
}

const char* ModuleSymbols::soname() const {
  if (strings_ == 0 || name_ == 0) return nullptr;
  const std::uint64_t room = bytes_mapped_at(strings_ + name_);
  const auto* name = reinterpret_cast<const char*>(strings_ + name_);
  return strnlen(name, room) < room ? name : nullptr;
}

bool ModuleSymbols::defines(std::uint32_t index, const char* name) const {
  ElfW(Sym) symbol;
  if (!read(symbols_ + std::uint64_t{index} * sizeof symbol, &symbol)) return false;
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  const std::size_t bytes = std::strlen(name) + 1;
  const std::uint64_t text = strings_ + symbol.st_name;
  return bytes_mapped_at(text) >= bytes &&
         std::memcmp(reinterpret_cast<const void*>(text), name, bytes) == 0;
}

std::uint32_t ModuleSymbols::gnu_lookup(const char* name) const {
  struct {
    std::uint32_t buckets, first_symbol, bloom_words, bloom_shift;
  } head;
  if (!read(gnu_hash_, &head) || head.buckets == 0) return 0;
  const std::uint64_t buckets =
      gnu_hash_ + sizeof head + std::uint64_t{head.bloom_words} * sizeof(ElfW(Addr));
  const std::uint64_t chains = buckets + head.buckets * kWord;
  const std::uint32_t hash = gnu_hash_of(name);
  std::uint32_t index = 0, entry = 0;
  if (!read(buckets + hash % head.buckets * kWord, &index) || index < head.first_symbol) return 0;
  for (std::uint32_t looked = 0; looked < kMaxChain; ++looked, ++index) {
    if (!read(chains + (index - head.first_symbol) * kWord, &entry)) return 0;
    if ((entry | 1) == (hash | 1) && defines(index, name)) return index;
    if ((entry & 1) != 0) return 0;
  }
  return 0;
}

std::uint32_t ModuleSymbols::sysv_lookup(const char* name) const {
  struct {
    std::uint32_t buckets, symbols;
  } head;
  if (!read(sysv_hash_, &head) || head.buckets == 0) return 0;
  const std::uint64_t buckets = sysv_hash_ + sizeof head;
  const std::uint64_t chains = buckets + head.buckets * kWord;
  std::uint32_t index = 0;
  if (!read(buckets + sysv_hash_of(name) % head.buckets * kWord, &index)) return 0;
  for (std::uint32_t looked = 0; looked < kMaxChain; ++looked) {
    if (index == 0 || index >= head.symbols) return 0;
    if (defines(index, name)) return index;
    if (!read(chains + index * kWord, &index)) return 0;
  }
  return 0;
}

}  // namespace gpuprof::modules
