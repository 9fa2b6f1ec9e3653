// SPDX-License-Identifier: Apache-2.0
//
// Hash-table lookup in a mapped module (DT_GNU_HASH, else DT_HASH).
//
// Context:  worker
#include "inject/python/elf_lookup.hpp"

#include <elf.h>

#include <cstring>

namespace gpuprof::python {
namespace {

const ElfW(Dyn) * dynamic_of(const dl_phdr_info& module) {
  for (int i = 0; i < module.dlpi_phnum; ++i)
    if (module.dlpi_phdr[i].p_type == PT_DYNAMIC)
      return reinterpret_cast<const ElfW(Dyn)*>(module.dlpi_addr + module.dlpi_phdr[i].p_vaddr);
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

ModuleSymbols::ModuleSymbols(const dl_phdr_info& module) : bias_(module.dlpi_addr) {
  const ElfW(Dyn)* entry = dynamic_of(module);
  if (entry == nullptr) return;
  // glibc relocates these pointers in place, other loaders and the vdso do not.
  const auto place = [this](std::uint64_t at) { return at < bias_ ? at + bias_ : at; };
  for (; entry->d_tag != DT_NULL; ++entry) {
    const std::uint64_t at = place(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(at);
    if (entry->d_tag == DT_STRTAB) strings_ = reinterpret_cast<const char*>(at);
    if (entry->d_tag == DT_GNU_HASH) gnu_hash_ = reinterpret_cast<const std::uint32_t*>(at);
    if (entry->d_tag == DT_HASH) sysv_hash_ = reinterpret_cast<const std::uint32_t*>(at);
  }
}

std::uint64_t ModuleSymbols::find(const char* name) const {
  if (symbols_ == nullptr || strings_ == nullptr) return 0;
  std::uint32_t index = 0;
  if (gnu_hash_ != nullptr)
    index = gnu_lookup(name);
  else if (sysv_hash_ != nullptr)
    index = sysv_lookup(name);
  // A non-PIE executable has bias 0 and absolute values: the same sum.
  return index == 0 ? 0 : bias_ + symbols_[index].st_value;
}

bool ModuleSymbols::defines(std::uint32_t index, const char* name) const {
  const ElfW(Sym)& symbol = symbols_[index];
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
         std::strcmp(strings_ + symbol.st_name, name) == 0;
}

std::uint32_t ModuleSymbols::gnu_lookup(const char* name) const {
  const std::uint32_t bucket_count = gnu_hash_[0];
  const std::uint32_t first_symbol = gnu_hash_[1];
  const std::uint32_t bloom_words = gnu_hash_[2];
  if (bucket_count == 0) return 0;
  const std::uint32_t* buckets = gnu_hash_ + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chains = buckets + bucket_count;
  const std::uint32_t hash = gnu_hash_of(name);
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first_symbol) return 0;
  for (;; ++index) {
    const std::uint32_t entry = chains[index - first_symbol];
    if ((entry | 1) == (hash | 1) && defines(index, name)) return index;
    if ((entry & 1) != 0) return 0;
  }
}

std::uint32_t ModuleSymbols::sysv_lookup(const char* name) const {
  const std::uint32_t bucket_count = sysv_hash_[0];
  const std::uint32_t symbol_count = sysv_hash_[1];
  if (bucket_count == 0) return 0;
  const std::uint32_t* chains = sysv_hash_ + 2 + bucket_count;
  std::uint32_t index = sysv_hash_[2 + sysv_hash_of(name) % bucket_count];
  for (; index != 0 && index < symbol_count; index = chains[index])
    if (defines(index, name)) return index;
  return 0;
}

}  // namespace gpuprof::python
